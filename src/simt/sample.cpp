// SPDX-License-Identifier: Apache-2.0
#include "simt/sample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "simt/engine.h"

namespace kuafu::simt {
namespace {

using isa::Op;

// Neighbours are taken together, because a kernel that works on the results of another one mostly
// reads what neighbouring blocks of that one wrote.
constexpr uint64_t kRun = 4;
constexpr uint64_t kRuns = 64;      // at most
constexpr uint64_t kRunsMin = 8;    // whatever they cost, within lanes_max
constexpr uint64_t kPilotRuns = 2;  // tell what a block costs
constexpr double kWholeSlack = 2;   // of an estimate that said that all blocks are affordable

uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Whether only the block itself can see what is accessed here.
bool IsShared(const isa::Function& fn, const isa::Inst& inst) {
  using isa::Space;
  if (inst.op == Op::kLoad) {
    const Space space = inst.MemSpace();
    if (space == Space::kShared || space == Space::kLocal || space == Space::kParam) return true;
  }
  return std::any_of(fn.constants.begin(), fn.constants.end(), [&](const isa::Constant& c) {
    return c.reg == inst.c && (c.bits & (isa::kProvShared | isa::kProvLocal)) != 0;
  });
}

// Whether anything looks at the value of this register.
bool IsUsed(const isa::Function& fn, uint32_t reg) {
  for (const isa::Inst& inst : fn.code) {
    if (inst.a == reg || inst.b == reg || inst.c == reg) return true;
    const uint32_t components = inst.op == Op::kStore ? std::max(inst.Components(), 1u) : 1u;
    if (inst.d != isa::kNoReg && reg >= inst.d && reg - inst.d < components) return true;
    if ((inst.op == Op::kMemCopyDyn || inst.op == Op::kAssertFail) && inst.extra == reg)
      return true;
    if (inst.op != Op::kCall && inst.op != Op::kCallIndirect && inst.op != Op::kRet) continue;
    const auto list = fn.operands.begin() + static_cast<std::ptrdiff_t>(inst.extra);
    if (std::find(list + 1, list + 1 + static_cast<std::ptrdiff_t>(*list), reg) !=
        list + 1 + static_cast<std::ptrdiff_t>(*list))
      return true;
  }
  return false;
}

std::string Line(const DModule& module, const isa::Inst& inst) {
  const auto& lines = module.module.lines;
  const uint32_t line = inst.line < lines.size() ? lines[inst.line].line : 0;
  return line == 0 ? "" : ", line " + std::to_string(line);
}

bool HasGridSync(const DModule& module, uint32_t kernel) {
  const auto& reachable = module.functions[kernel].reachable;
  return std::any_of(reachable.begin(), reachable.end(), [&](uint32_t index) {
    const auto& code = module.module.functions[index].code;
    return std::any_of(code.begin(), code.end(),
                       [](const isa::Inst& inst) { return inst.op == Op::kGridSync; });
  });
}

}  // namespace

void WriteLog::Add(std::vector<WriteRange>& list, uint32_t id, uint64_t offset, uint32_t bytes) {
  if (!list.empty()) {
    WriteRange& last = list.back();
    if (last.id == id && last.offset + last.bytes == offset && last.bytes < (1u << 30)) {
      last.bytes += bytes;
      return;
    }
  }
  list.push_back({id, bytes, offset});
}

std::string WhyWhole(const DModule& module, uint32_t kernel) {
  for (const uint32_t index : module.functions[kernel].reachable) {
    const isa::Function& fn = module.module.functions[index];
    for (const isa::Inst& inst : fn.code) {
      const auto why = [&](const char* what) { return what + Line(module, inst); };
      switch (inst.op) {
        case Op::kGridSync: return why("its blocks meet at a grid-wide barrier");
        case Op::kMalloc:
        case Op::kFree: return why("it allocates memory");
        case Op::kAtomicLoad:
        case Op::kAtomicStore:
        case Op::kAtomicCas:
          if (!IsShared(fn, inst)) return why("its blocks may see each other's atomic operations");
          break;
        case Op::kAtomicRmw:
          if (!IsShared(fn, inst) && inst.dst != isa::kNoReg && IsUsed(fn, inst.dst))
            return why("it uses the result of an atomic operation");
          break;
        case Op::kLoad:
          if ((inst.aux & isa::kMemVolatile) != 0 && !IsShared(fn, inst))
            return why("it reads volatile memory");
          break;
        default: break;
      }
    }
  }
  return {};
}

Sampler::Sampler(LaunchState& state, uint64_t blocks)
    : state_(state), blocks_(blocks), why_whole_(WhyWhole(*state.module, state.kernel)) {
  counts_only_ = state.options->sampling.counts_only;
  if (counts_only_ && !HasGridSync(*state.module, state.kernel)) why_whole_.clear();
  if (state.options->cooperative && why_whole_.empty()) why_whole_ = "the launch is cooperative";
  Choose();
  if (!why_whole_.empty() || blocks_ <= 2 + kPilotRuns * kRun) phase_ = Phase::kWhole;
  if (phase_ == Phase::kWhole) in_chosen_.clear();
}

// Positions are shares of the grid, the same in every launch of a call: kernels that follow each
// other mostly divide their work alike.
void Sampler::Choose() {
  const auto add = [&](uint64_t block) {
    if (block < blocks_ && in_chosen_.insert(block).second) chosen_.push_back(block);
  };
  add(0);
  add(blocks_ - 1);
  for (uint64_t i = 0; i < kRuns; ++i) {
    const auto share = static_cast<double>(Mix(state_.options->sampling.seed + i) >> 11) * 0x1p-53;
    const auto first = static_cast<uint64_t>(share * static_cast<double>(blocks_));
    for (uint64_t k = 0; k < kRun; ++k) add(first + k);
  }
}

// With all blocks ended that were started.
void Sampler::Decide() {
  const Sampling& wanted = state_.options->sampling;
  const auto lanes = static_cast<double>(state_.result.lane_instructions);
  const auto whole = static_cast<double>(wanted.lanes_whole);
  if (phase_ == Phase::kPilot) {
    const double each = lanes / static_cast<double>(std::max<uint64_t>(started_, 1));
    phase_ = each * static_cast<double>(blocks_) <= whole ? Phase::kWhole : Phase::kSample;
    if (phase_ == Phase::kWhole) next_ = 0;
  }
  if (phase_ == Phase::kSample) {
    const uint64_t runs = counts_only_ ? kPilotRuns : kRunsMin;
    const bool enough = started_ >= 2 + runs * kRun && lanes >= whole / 2;
    if (enough || next_ >= chosen_.size()) phase_ = Phase::kEnd;
  }
  if (phase_ == Phase::kWhole) {
    while (next_ < blocks_ && IsDrawn(next_)) ++next_;
    const bool slipped = why_whole_.empty() && lanes > kWholeSlack * whole;
    if (next_ >= blocks_ || slipped) phase_ = Phase::kEnd;
  }
}

bool Sampler::More() {
  // Three blocks that cost so much tell enough.
  if (counts_only_ && phase_ != Phase::kWhole && started_ >= 3 && started_ == ended_ &&
      state_.result.lane_instructions > state_.options->sampling.lanes_whole)
    phase_ = Phase::kEnd;
  if (phase_ == Phase::kPilot && next_ < std::min<uint64_t>(2 + kPilotRuns * kRun, chosen_.size()))
    return true;
  if (phase_ == Phase::kWhole && !why_whole_.empty()) return next_ < blocks_;
  if (started_ > ended_) return false;
  Decide();
  return phase_ != Phase::kEnd;
}

bool Sampler::IsDrawn(uint64_t block) const {
  if (!in_chosen_.contains(block)) return false;
  const auto end = chosen_.begin() + static_cast<std::ptrdiff_t>(drawn_);
  return std::find(chosen_.begin(), end, block) != end;
}

uint64_t Sampler::Take() {
  ++started_;
  if (phase_ == Phase::kWhole) return next_++;
  ++drawn_;
  return chosen_[next_++];
}

void Sampler::Ended(uint64_t block, bool given_up, WriteLog& log) {
  ++ended_;
  ++(given_up ? given_up_ : complete_);
  if (counts_only_) {
    log.Clear();
    return;
  }
  logs_.push_back({block, given_up, std::move(log.plain()), std::move(log.atomic())});
  log.Clear();
}

bool Sampler::TooCostly() const {
  return state_.result.lane_instructions > state_.options->sampling.lanes_max ||
         state_.result.dispatches >= state_.options->max_dispatches;
}

bool Sampler::Stopped() const { return TooCostly() || (given_up_ > 0 && waits()); }

// Whether a pointer that the kernel uses may come from somewhere else than its parameters.
bool Sampler::PointersFromMemory() const {
  for (const uint32_t index : state_.module->functions[state_.kernel].reachable) {
    const isa::Function& fn = state_.module->module.functions[index];
    for (const isa::Inst& use : fn.code) {
      if (use.op == Op::kCallIndirect) return true;
      if (use.op != Op::kProvOf) continue;
      for (const isa::Inst& source : fn.code) {
        if (source.dst == isa::kNoReg || use.a < source.dst) continue;
        const uint32_t count = source.op == Op::kLoad ? std::max(source.Components(), 1u) : 1u;
        if (use.a - source.dst >= count) continue;
        if (source.op != Op::kLoad || source.MemSpace() != isa::Space::kParam) return true;
      }
    }
  }
  return false;
}

bool Sampler::MayWrite(std::vector<uint32_t>& ids) const {
  if (PointersFromMemory()) return false;
  const auto add = [&](uint32_t id) {
    if (id != 0 && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  };
  const isa::Function& kernel = state_.module->module.functions[state_.kernel];
  const DFunction& decoded = state_.module->functions[state_.kernel];
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const isa::Param& p = kernel.params[i];
    if (p.is_pointer && p.bytes == 8) {
      if (!p.read_only && decoded.param_loaded[i] == 0) add(state_.param_provenance[i]);
      continue;
    }
    // A struct may hold pointers anywhere.
    for (uint32_t at = p.offset; at + 8 <= p.offset + p.bytes; ++at) {
      uint64_t value = 0;
      std::memcpy(&value, state_.params.data() + at, 8);
      add(state_.memory->IdOf(value));
    }
  }
  for (const uint32_t index : decoded.reachable) {
    for (const isa::Inst& inst : state_.module->module.functions[index].code) {
      if (inst.op != Op::kGlobalAddr) continue;
      const auto global = static_cast<size_t>(inst.imm);
      if (state_.module->module.globals[global].space != isa::Space::kConstant)
        add(state_.memory->IdOf(state_.module->global_address[global]));
    }
  }
  for (const BlockLog& log : logs_) {
    for (const auto* ranges : {&log.plain, &log.atomic}) {
      for (const WriteRange& r : *ranges) add(r.id);
    }
  }
  return true;
}

void Sampler::Finish() {
  SampledLaunch& done = state_.result.sampling;
  done.kernel = state_.module->module.functions[state_.kernel].pretty;
  done.blocks = blocks_;
  done.blocks_run = started_;
  done.blocks_given_up = given_up_;
  done.why_whole = why_whole_;
  done.whole = complete_ == blocks_;
  done.too_costly = !done.whole && TooCostly();
  if (counts_only_) return;
  Memory& memory = *state_.memory;
  const auto each = [&](const std::vector<WriteRange>& ranges, bool known) {
    for (const WriteRange& r : ranges) memory.Get(r.id)->SetKnown(r.offset, r.bytes, known);
  };
  if (done.whole) {
    for (const BlockLog& log : logs_) each(log.plain, true);
    return;
  }
  std::vector<uint32_t> ids;
  const bool told = MayWrite(ids);
  for (uint32_t id = 1; !told && memory.Get(id) != nullptr; ++id) ids.push_back(id);
  for (const uint32_t id : ids) {
    Allocation& a = *memory.Get(id);
    if (!a.live || a.bytes == 0) continue;
    a.SetKnown(0, a.bytes, false);
    done.estimates[id] = {};
  }
  // What its blocks tell each other is missing for those that ran, too.
  if (waits()) return;
  for (const BlockLog& log : logs_) {
    if (!log.given_up) each(log.plain, true);
  }
  for (const BlockLog& log : logs_) {
    each(log.atomic, false);
    if (log.given_up) each(log.plain, false);
  }
  if (started_ < blocks_) Estimate();
}

// Of the blocks drawn at random; each run of neighbours is one sample.
void Sampler::Estimate() {
  std::unordered_map<uint64_t, const BlockLog*> by_block;
  for (const BlockLog& log : logs_) {
    if (IsDrawn(log.block)) by_block[log.block] = &log;
  }
  struct Sums {
    double sum = 0, squares = 0;
  };
  std::map<uint32_t, Sums> sums;
  double samples = 0;
  for (uint64_t i = 0; i < kRuns; ++i) {
    const auto share = static_cast<double>(Mix(state_.options->sampling.seed + i) >> 11) * 0x1p-53;
    const auto first = static_cast<uint64_t>(share * static_cast<double>(blocks_));
    std::map<uint32_t, double> bytes;
    double count = 0;
    for (uint64_t k = 0; k < kRun; ++k) {
      const auto it = by_block.find(first + k);
      if (it == by_block.end()) continue;
      ++count;
      if (it->second->given_up) continue;
      std::vector<WriteRange> ranges = it->second->plain;
      std::sort(ranges.begin(), ranges.end(), [](const WriteRange& a, const WriteRange& b) {
        return a.id != b.id ? a.id < b.id : a.offset < b.offset;
      });
      uint64_t end = 0;
      uint32_t id = 0;
      for (const WriteRange& r : ranges) {
        if (r.id != id) end = 0;
        id = r.id;
        const uint64_t from = std::max(end, r.offset), to = r.offset + r.bytes;
        if (to > from) bytes[id] += static_cast<double>(to - from);
        end = std::max(end, to);
      }
    }
    if (count == 0) continue;
    ++samples;
    for (const auto& [id, total] : bytes) {
      sums[id].sum += total / count;
      sums[id].squares += total / count * (total / count);
    }
  }
  for (const auto& [id, s] : sums) {
    const double mean = s.sum / samples;
    const double variance = std::max(0.0, s.squares / samples - mean * mean);
    const auto all = static_cast<double>(blocks_);
    state_.result.sampling.estimates[id] = {mean * all, std::sqrt(variance / samples) * all};
  }
}

}  // namespace kuafu::simt
