// SPDX-License-Identifier: Apache-2.0
// Scheduling and control flow of one block, see engine.h.
#include "simt/engine.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <tuple>

namespace kuafu::simt {
namespace {

using isa::Op;
using isa::Type;

constexpr uint32_t kBackEdgesPerRound = 4096;
constexpr int kMaxDepth = 256;
alignas(64) uint8_t zero_slot[64] = {};

size_t RoundUp64(size_t v) { return (v + 63) & ~size_t{63}; }

}  // namespace

Frame::~Frame() { std::free(memory); }

BlockRun::BlockRun(LaunchState& launch) : launch_(launch), n_(launch.n) {
  size_t lanes = RoundUp64(static_cast<size_t>(n_));
  address_.resize(lanes);
  ok_.resize(lanes);
  scratch_.resize(lanes * 8);
  mask_scratch_.resize(lanes);
  free_frames_.resize(launch.module->functions.size());
  shared_ = static_cast<uint8_t*>(
      std::aligned_alloc(1024, (launch.shared_bytes + 128 + 1023) & ~size_t{1023}));
  if (launch.options->sanitize) {
    shared_valid_.resize(launch.shared_bytes + 64);
    shared_shadow_.Resize(launch.shared_bytes + 64);
  }
  if (launch.stack_bytes > 0) {
    void* p = mmap(nullptr, static_cast<size_t>(launch.stack_bytes) * static_cast<size_t>(n_),
                   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    stacks_ = p == MAP_FAILED ? nullptr : static_cast<uint8_t*>(p);
    if (launch.options->sanitize)
      stack_valid_.resize(static_cast<size_t>(launch.stack_bytes) * static_cast<size_t>(n_));
  }
}

BlockRun::~BlockRun() {
  std::free(shared_);
  if (stacks_ != nullptr)
    munmap(stacks_, static_cast<size_t>(launch_.stack_bytes) * static_cast<size_t>(n_));
}

uint64_t BlockRun::Random() {
  rng_ ^= rng_ << 13;
  rng_ ^= rng_ >> 7;
  rng_ ^= rng_ << 17;
  return rng_;
}

void BlockRun::Start(uint64_t linear) {
  linear_ = linear;
  ctaid_[0] = static_cast<uint32_t>(linear % launch_.grid[0]);
  ctaid_[1] = static_cast<uint32_t>(linear / launch_.grid[0] % launch_.grid[1]);
  ctaid_[2] = static_cast<uint32_t>(linear / launch_.grid[0] / launch_.grid[1]);
  alive_ = n_;
  killed_ = false;
  exited_.assign(static_cast<size_t>(n_), 0);
  exit_line_.assign(static_cast<size_t>(n_), 0);
  rng_ =
      (launch_.options->order_seed * 0x9e3779b97f4a7c15ull ^ (linear + 1) * 0xbf58476d1ce4e5b9ull) |
      1;
  std::memset(shared_, Memory::kPoisonByte, launch_.shared_bytes + 64);
  std::fill(shared_valid_.begin(), shared_valid_.end(), uint8_t{0});
  sync_.Reset(static_cast<uint32_t>(linear), n_, launch_.width);
  Frame* root = NewFrame(launch_.kernel, nullptr, 0);
  root->live = n_;
  const isa::Function& kernel = *root->fn->source;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const isa::Param& p = kernel.params[i];
    if (p.reg != isa::kNoReg) {
      int size = isa::TypeBytes(kernel.registers[p.reg].type);
      const uint8_t* from = launch_.params.data() + p.offset;
      if (kernel.registers[p.reg].uniform)
        std::memcpy(root->regs[p.reg], from, static_cast<size_t>(size));
      else
        Fill(root->regs[p.reg], from, n_, size);
    }
    if (p.prov_reg != isa::kNoReg) {
      uint32_t provenance = launch_.param_provenance[i];
      if (kernel.registers[p.prov_reg].uniform)
        std::memcpy(root->regs[p.prov_reg], &provenance, 4);
      else
        Fill(root->regs[p.prov_reg], &provenance, n_, 4);
    }
  }
  if (kernel.frame_bytes > 0 && stacks_ != nullptr) {
    for (size_t i = 0; i < static_cast<size_t>(n_); ++i) {
      std::memset(stacks_ + i * launch_.stack_bytes, Memory::kPoisonByte, kernel.frame_bytes);
    }
    std::fill(stack_valid_.begin(), stack_valid_.end(), uint8_t{0});
  }
  bool seeded = launch_.options->order_seed != 0;
  int step = seeded ? launch_.width : n_;
  for (int lo = 0; lo < n_; lo += step) {
    Split* s = NewSplit(root, 0);
    s->lo = lo;
    s->hi = std::min(n_, lo + step);
    s->count = s->hi - s->lo;
    s->group = seeded ? lo / step : 0;
    std::fill(s->mask.begin() + s->lo, s->mask.begin() + s->hi, uint8_t{1});
    ready_.push_back(s);
  }
}

Split* BlockRun::NewSplit(Frame* frame, uint32_t pc) {
  Split* s = nullptr;
  if (free_splits_.empty()) {
    splits_.push_back(std::make_unique<Split>());
    s = splits_.back().get();
    s->mask.resize(RoundUp64(static_cast<size_t>(n_)));
  } else {
    s = free_splits_.back();
    free_splits_.pop_back();
  }
  std::fill(s->mask.begin(), s->mask.end(), uint8_t{0});
  s->frame = frame;
  s->pc = pc;
  s->lo = s->hi = s->count = 0;
  s->round = s->back_edges = 0;
  s->group = 0;
  return s;
}

void BlockRun::FreeSplit(Split* split) { free_splits_.push_back(split); }

void BlockRun::Tighten(Split& s) {
  while (s.lo < s.hi && s.mask[static_cast<size_t>(s.lo)] == 0) ++s.lo;
  while (s.hi > s.lo && s.mask[static_cast<size_t>(s.hi - 1)] == 0) --s.hi;
}

void BlockRun::AddReady(Split* s) {
  for (Split* other : ready_) {
    if (other->frame == s->frame && other->pc == s->pc && other->group == s->group) {
      for (int i = s->lo; i < s->hi; ++i)
        other->mask[static_cast<size_t>(i)] |= s->mask[static_cast<size_t>(i)];
      other->lo = std::min(other->lo, s->lo);
      other->hi = std::max(other->hi, s->hi);
      other->count += s->count;
      other->round = std::max(other->round, s->round);
      FreeSplit(s);
      return;
    }
  }
  ready_.push_back(s);
}

Split* BlockRun::Pick() {
  if (ready_.empty()) return nullptr;
  int group = 0;
  if (launch_.options->order_seed != 0) group = ready_[Random() % ready_.size()]->group;
  size_t best = ready_.size();
  for (size_t i = 0; i < ready_.size(); ++i) {
    const Split& s = *ready_[i];
    if (s.group != group) continue;
    if (best == ready_.size()) {
      best = i;
      continue;
    }
    const Split& b = *ready_[best];
    auto key = [](const Split& x) { return std::tuple(x.round, -x.frame->depth, x.pc); };
    if (key(s) < key(b)) best = i;
  }
  Split* s = ready_[best];
  ready_[best] = ready_.back();
  ready_.pop_back();
  return s;
}

uint32_t BlockRun::StopPc(const Split& split) const {
  uint32_t stop = UINT32_MAX;
  for (const Split* s : ready_) {
    if (s->frame == split.frame && s->group == split.group && s->pc >= split.pc)
      stop = std::min(stop, s->pc);
  }
  return stop;
}

Frame* BlockRun::NewFrame(uint32_t function, Frame* parent, uint32_t call_pc) {
  Frame* f = nullptr;
  const DFunction& fn = launch_.module->functions[function];
  if (!free_frames_[function].empty()) {
    f = free_frames_[function].back();
    free_frames_[function].pop_back();
  } else {
    frames_.push_back(std::make_unique<Frame>());
    f = frames_.back().get();
    f->fn = &fn;
    f->index = function;
    const Layout& layout = launch_.layouts[function];
    size_t bytes = RoundUp64(layout.bytes + 64);
    f->memory = static_cast<uint8_t*>(std::aligned_alloc(64, bytes));
    std::memset(f->memory, 0, bytes);
    f->regs.resize(layout.offset.size() + 1);
    for (size_t i = 0; i < layout.offset.size(); ++i) f->regs[i] = f->memory + layout.offset[i];
    f->regs.back() = zero_slot;
    for (const isa::Constant& c : fn.source->constants) {
      const isa::Register& r = fn.source->registers[c.reg];
      int size = isa::TypeBytes(r.type);
      if (r.uniform)
        std::memcpy(f->regs[c.reg], &c.bits, static_cast<size_t>(size));
      else
        Fill(f->regs[c.reg], &c.bits, n_, size);
    }
  }
  f->parent = parent;
  f->call_pc = call_pc;
  f->depth = parent == nullptr ? 0 : parent->depth + 1;
  f->stack_offset = parent == nullptr
                        ? 0
                        : parent->stack_offset + ((parent->fn->source->frame_bytes + 15) & ~15u);
  f->live = 0;
  return f;
}

void BlockRun::FreeFrame(Frame* frame) { free_frames_[frame->index].push_back(frame); }

int BlockRun::FirstLane(const Split& s) const {
  int i = s.lo;
  while (i < s.hi - 1 && s.mask[static_cast<size_t>(i)] == 0) ++i;
  return i;
}

uint64_t BlockRun::ReadReg(const Frame& f, uint32_t reg, int lane) const {
  const isa::Register& r = f.fn->source->registers[reg];
  int size = isa::TypeBytes(r.type);
  uint64_t value = 0;
  std::memcpy(&value, f.regs[reg] + (r.uniform ? 0 : lane * size), static_cast<size_t>(size));
  return value;
}

void BlockRun::WriteReg(Frame& f, uint32_t reg, int lane, uint64_t value) {
  if (reg == isa::kNoReg) return;
  const isa::Register& r = f.fn->source->registers[reg];
  int size = isa::TypeBytes(r.type);
  std::memcpy(f.regs[reg] + (r.uniform ? 0 : lane * size), &value, static_cast<size_t>(size));
}

void BlockRun::ExecLane(const DInst& d, Split& s) {
  uint8_t* const* regs = s.frame->regs.data();
  uint8_t* dst = regs[d.inst.dst];
  if (d.dst_uniform) {
    d.fn(dst, regs[d.a], regs[d.b], regs[d.c], 1, d.imm);
  } else {
    int lo = s.lo, count = s.hi - lo;
    uint8_t* out = dst + lo * d.ds;
    uint8_t* to = s.dense() ? out : scratch_.data();
    if (d.all_uniform) {
      uint64_t value = 0;
      d.fn(&value, regs[d.a], regs[d.b], regs[d.c], 1, d.imm);
      Fill(to, &value, count, d.ds);
    } else {
      d.fn(to, regs[d.a] + lo * d.as, regs[d.b] + lo * d.bs, regs[d.c] + lo * d.cs, count, d.imm);
    }
    if (!s.dense()) Blend(out, to, s.mask.data() + lo, count, d.ds);
  }
}

void BlockRun::WriteUniformOr(const DInst& d, Split& s, const void* value) {
  if (d.inst.dst == isa::kNoReg) return;
  uint8_t* dst = s.frame->regs[d.inst.dst];
  if (d.dst_uniform) {
    std::memcpy(dst, value, d.ds);
  } else if (s.dense()) {
    Fill(dst + s.lo * d.ds, value, s.hi - s.lo, d.ds);
  } else {
    Fill(scratch_.data(), value, s.hi - s.lo, d.ds);
    Blend(dst + s.lo * d.ds, scratch_.data(), s.mask.data() + s.lo, s.hi - s.lo, d.ds);
  }
}

void BlockRun::ExecSpecial(const DInst& d, Split& s) {
  using isa::SpecialReg;
  auto which = static_cast<SpecialReg>(d.inst.imm);
  const std::vector<int32_t>* lanes = nullptr;
  uint32_t value = 0;
  switch (which) {
    case SpecialReg::kTidX: lanes = &launch_.special[0]; break;
    case SpecialReg::kTidY: lanes = &launch_.special[1]; break;
    case SpecialReg::kTidZ: lanes = &launch_.special[2]; break;
    case SpecialReg::kLaneId: lanes = &launch_.special[3]; break;
    case SpecialReg::kWarpId: lanes = &launch_.special[4]; break;
    case SpecialReg::kNtidX:
    case SpecialReg::kNtidY:
    case SpecialReg::kNtidZ:
      value = launch_.block[static_cast<int>(which) - static_cast<int>(SpecialReg::kNtidX)];
      break;
    case SpecialReg::kCtaidX:
    case SpecialReg::kCtaidY:
    case SpecialReg::kCtaidZ:
      value = ctaid_[static_cast<int>(which) - static_cast<int>(SpecialReg::kCtaidX)];
      break;
    case SpecialReg::kNctaidX:
    case SpecialReg::kNctaidY:
    case SpecialReg::kNctaidZ:
      value = launch_.grid[static_cast<int>(which) - static_cast<int>(SpecialReg::kNctaidX)];
      break;
    case SpecialReg::kWarpSize: value = static_cast<uint32_t>(launch_.width); break;
    case SpecialReg::kNumWarps: value = static_cast<uint32_t>(launch_.warps); break;
    case SpecialReg::kSmId:
      value = static_cast<uint32_t>(linear_ % launch_.options->sm_count);
      break;
    case SpecialReg::kDynamicSharedBytes: value = launch_.dynamic_shared; break;
    case SpecialReg::kGridId: value = static_cast<uint32_t>(launch_.grid_id); break;
  }
  if (lanes == nullptr) {
    WriteUniformOr(d, s, &value);
  } else if (d.dst_uniform) {
    std::memcpy(s.frame->regs[d.inst.dst], lanes->data() + FirstLane(s), 4);
  } else {
    Blend(s.frame->regs[d.inst.dst] + s.lo * 4, lanes->data() + s.lo, s.mask.data() + s.lo,
          s.hi - s.lo, 4);
  }
}

void BlockRun::Kill() {
  killed_ = true;
  alive_ = 0;
  for (auto* list : {&ready_, &warp_wait_, &grid_wait_}) {
    for (Split* s : *list) FreeSplit(s);
    list->clear();
  }
  for (BarrierWait& b : barrier_wait_) {
    for (Split* s : b.waiting) FreeSplit(s);
  }
  barrier_wait_.clear();
  // Every frame goes back to its pool.
  for (auto& list : free_frames_) list.clear();
  for (auto& f : frames_) free_frames_[f->index].push_back(f.get());
}

void BlockRun::Exit(Split* s, uint32_t line) {
  for (int i = s->lo; i < s->hi; ++i) {
    if (s->mask[static_cast<size_t>(i)]) {
      exited_[static_cast<size_t>(i)] = 1;
      exit_line_[static_cast<size_t>(i)] = line;
    }
  }
  alive_ -= s->count;
  s->frame->live -= s->count;
  if (s->frame->live == 0) FreeFrame(s->frame);
  FreeSplit(s);
  launch_.last_effect = launch_.result.dispatches;
  CheckWarps();
  CheckBarriers();
}

bool BlockRun::DoCall(const DInst& d, Split*& s, uint32_t target, uint32_t pc) {
  Frame* from = s->frame;
  const isa::Function& caller = *from->fn->source;
  const isa::Function& callee = *launch_.module->functions[target].source;
  const uint32_t* list = caller.operands.data() + d.inst.extra;
  uint32_t arguments = list[0], results = list[1 + arguments];
  if (callee.is_kernel || arguments != callee.param_regs.size() || results != callee.result_count) {
    Report(Finding::Kind::kTrap,
           "call of " + callee.pretty + " through a pointer of another function type", d.inst.line,
           0, FirstLane(*s));
    return false;
  }
  uint32_t need = from->stack_offset + ((caller.frame_bytes + 15) & ~15u) + callee.frame_bytes;
  if (from->depth + 1 >= kMaxDepth || (need > launch_.stack_bytes && callee.frame_bytes > 0)) {
    Report(Finding::Kind::kTrap,
           "stack overflow: " + std::to_string(from->depth + 1) + " calls deep in " +
               callee.pretty + ", limit " + std::to_string(kMaxDepth) + " calls and " +
               std::to_string(launch_.stack_bytes) + " bytes of local memory per thread",
           d.inst.line, 0, FirstLane(*s));
    return false;
  }
  Frame* f = NewFrame(target, from, pc);
  f->live = s->count;
  int count = s->hi - s->lo;
  for (uint32_t i = 0; i < arguments; ++i) {
    uint32_t source = list[1 + i], dest = callee.param_regs[i];
    const isa::Register& sr = caller.registers[source];
    const isa::Register& dr = callee.registers[dest];
    int size = isa::TypeBytes(dr.type);
    if (isa::TypeBytes(sr.type) != size) {
      Report(Finding::Kind::kTrap,
             "call of " + callee.pretty + " through a pointer of another function type",
             d.inst.line, 0, FirstLane(*s));
      return false;
    }
    if (dr.uniform) {
      std::memcpy(f->regs[dest], from->regs[source] + (sr.uniform ? 0 : FirstLane(*s) * size),
                  static_cast<size_t>(size));
    } else if (sr.uniform) {
      Fill(f->regs[dest] + s->lo * size, from->regs[source], count, size);
    } else {
      std::memcpy(f->regs[dest] + s->lo * size, from->regs[source] + s->lo * size,
                  static_cast<size_t>(count * size));
    }
  }
  if (callee.frame_bytes > 0 && stacks_ != nullptr) {
    for (int i = s->lo; i < s->hi; ++i) {
      if (s->mask[static_cast<size_t>(i)] == 0) continue;
      size_t at = static_cast<size_t>(i) * launch_.stack_bytes + f->stack_offset;
      std::memset(stacks_ + at, Memory::kPoisonByte, callee.frame_bytes);
      if (!stack_valid_.empty()) std::memset(stack_valid_.data() + at, 0, callee.frame_bytes);
    }
  }
  s->frame = f;
  s->pc = 0;
  return true;
}

bool BlockRun::DoRet(const DInst& d, Split* s) {
  Frame* f = s->frame;
  Frame* to = f->parent;
  if (to == nullptr) {
    Exit(s, d.inst.line);
    return true;
  }
  const isa::Function& callee = *f->fn->source;
  const isa::Function& caller = *to->fn->source;
  const uint32_t* values = callee.operands.data() + d.inst.extra;
  const isa::Inst& call = to->fn->code[f->call_pc].inst;
  for (uint32_t i = 0; i < values[0] && call.dst != isa::kNoReg; ++i) {
    uint32_t source = values[1 + i], dest = call.dst + i;
    if (dest >= caller.registers.size()) break;
    const isa::Register& sr = callee.registers[source];
    const isa::Register& dr = caller.registers[dest];
    int size = isa::TypeBytes(dr.type);
    if (isa::TypeBytes(sr.type) != size) {
      Report(Finding::Kind::kTrap,
             "call of " + callee.pretty + " through a pointer of another function type", call.line,
             0, FirstLane(*s));
      return false;
    }
    if (dr.uniform) {
      std::memcpy(to->regs[dest], f->regs[source] + (sr.uniform ? 0 : FirstLane(*s) * size),
                  static_cast<size_t>(size));
      continue;
    }
    const uint8_t* in = f->regs[source] + s->lo * size;
    if (sr.uniform) {
      Fill(scratch_.data(), f->regs[source], s->hi - s->lo, size);
      in = scratch_.data();
    }
    Blend(to->regs[dest] + s->lo * size, in, s->mask.data() + s->lo, s->hi - s->lo, size);
  }
  f->live -= s->count;
  s->frame = to;
  s->pc = f->call_pc + 1;
  if (f->live == 0) FreeFrame(f);
  AddReady(s);
  return true;
}

RunStatus BlockRun::Run(uint64_t budget) {
  uint64_t limit = launch_.result.dispatches + budget;
  while (!launch_.stop) {
    Split* s = Pick();
    if (s == nullptr) {
      if (alive_ == 0) return RunStatus::kDone;
      int waiting = 0;
      for (const Split* g : grid_wait_) waiting += g->count;
      if (waiting == alive_) return RunStatus::kGridWait;
      ReportStuck();
      Kill();
      return RunStatus::kDone;
    }
    RunSplit(s, limit);
    if (launch_.result.dispatches >= limit)
      return alive_ == 0 ? RunStatus::kDone : RunStatus::kBudget;
  }
  Kill();
  return RunStatus::kDone;
}

void BlockRun::ReleaseGrid() {
  std::vector<Split*> list;
  list.swap(grid_wait_);
  for (Split* s : list) {
    ++s->pc;
    AddReady(s);
  }
}

uint32_t BlockRun::SpinLine() const { return last_line_; }
uint32_t BlockRun::GridLine() const {
  return grid_wait_.empty() ? 0 : At(*grid_wait_.front()).inst.line;
}

void BlockRun::RunSplit(Split* s, uint64_t limit) {
  LaunchResult& r = launch_.result;
  const bool check_overflow = launch_.options->sanitize;
  uint32_t slice = UINT32_MAX;
  if (launch_.options->order_seed != 0) slice = 50 + static_cast<uint32_t>(Random() % 400);
  const DInst* code = s->frame->fn->code.data();
  uint32_t pc = s->pc;
  uint32_t stop = StopPc(*s);
  // One dispatch per turn. Leaves when the split ends, waits, meets another, or has had its share.
  for (;;) {
    if (pc >= stop || slice == 0 || r.dispatches >= limit || launch_.stop) {
      s->pc = pc;
      last_line_ = code[pc].inst.line;
      AddReady(s);
      return;
    }
    const DInst& d = code[pc];
    ++r.dispatches;
    ++dispatches_;
    --slice;
    r.lane_instructions += static_cast<uint64_t>(s->count);
    if (d.fn != nullptr) {
      if (d.overflow != nullptr && check_overflow) {
        int lane = 0;
        uint8_t* const* regs = s->frame->regs.data();
        if (d.overflow(regs[d.a] + s->lo * d.as, regs[d.b] + s->lo * d.bs, regs[d.c] + s->lo * d.cs,
                       d.uniform, s->dense() || d.dst_uniform ? nullptr : s->mask.data() + s->lo,
                       d.dst_uniform ? 1 : s->hi - s->lo, &lane)) {
          Report(Finding::Kind::kIndexOverflow,
                 std::string("signed overflow in the ") + std::string(isa::TypeName(d.inst.type)) +
                     " " + std::string(isa::OpName(d.inst.op)) +
                     " of an index; compute it in 64 bits",
                 d.inst.line, 0, s->lo + lane);
        }
      }
      ExecLane(d, *s);
      ++pc;
      continue;
    }
    s->pc = pc;
    switch (d.inst.op) {
      case Op::kBr: {
        auto target = static_cast<uint32_t>(d.inst.imm);
        if (target <= pc && ++s->back_edges >= kBackEdgesPerRound) {
          s->back_edges = 0;
          if (!ready_.empty()) {
            ++s->round;
            slice = 0;
          }
        }
        bool backward = target <= pc;
        pc = s->pc = target;
        if (backward) stop = StopPc(*s);
        continue;
      }
      case Op::kCondBr: {
        auto yes = static_cast<uint32_t>(d.inst.imm), no = d.inst.extra;
        uint32_t target = no;
        if (d.as == 0) {
          target = s->frame->regs[d.a][0] ? yes : no;
        } else {
          const uint8_t* p = s->frame->regs[d.a];
          const uint8_t* m = s->mask.data();
          int taken = 0;
          for (int i = s->lo; i < s->hi; ++i) taken += m[i] & p[i];
          if (taken == s->count) {
            target = yes;
          } else if (taken != 0 && yes != no) {
            ++r.divergent_branches;
            Split* other = NewSplit(s->frame, no);
            other->round = s->round;
            other->back_edges = s->back_edges;
            other->group = s->group;
            uint8_t* om = other->mask.data();
            uint8_t* sm = s->mask.data();
            for (int i = s->lo; i < s->hi; ++i) {
              om[i] = sm[i] & (p[i] ^ 1);
              sm[i] &= p[i];
            }
            other->lo = s->lo;
            other->hi = s->hi;
            other->count = s->count - taken;
            s->count = taken;
            Tighten(*other);
            Tighten(*s);
            s->pc = yes;
            // The lower one goes on; a backward edge counts for whoever takes it.
            for (Split* x : {s, other}) {
              if (x->pc <= pc && ++x->back_edges >= kBackEdgesPerRound) {
                x->back_edges = 0;
                ++x->round;
                slice = 0;
              }
            }
            if (slice == 0) {
              AddReady(other);
              AddReady(s);
              return;
            }
            if (other->pc < s->pc) std::swap(s, other);
            AddReady(other);
            pc = s->pc;
            stop = StopPc(*s);
            continue;
          }
        }
        bool backward = target <= pc;
        if (backward && ++s->back_edges >= kBackEdgesPerRound) {
          s->back_edges = 0;
          if (!ready_.empty()) {
            ++s->round;
            slice = 0;
          }
        }
        pc = s->pc = target;
        if (backward) stop = StopPc(*s);
        continue;
      }
      case Op::kCall:
        if (!DoCall(d, s, static_cast<uint32_t>(d.inst.imm), pc)) {
          launch_.stop = true;
          AddReady(s);
          return;
        }
        code = s->frame->fn->code.data();
        pc = 0;
        stop = UINT32_MAX;
        continue;
      case Op::kCallIndirect: {
        uint64_t address = ReadReg(*s->frame, d.inst.a, FirstLane(*s));
        uint64_t index = address ^ isa::kFunctionAddressTag;
        if (index >= launch_.module->functions.size()) {
          Report(Finding::Kind::kTrap, "call through a pointer that is no device function",
                 d.inst.line, 0, FirstLane(*s), address);
          launch_.stop = true;
          AddReady(s);
          return;
        }
        // Lanes with other targets stay behind and come here again.
        Split* rest = NewSplit(s->frame, pc);
        rest->round = s->round;
        rest->group = s->group;
        for (int i = s->lo; i < s->hi; ++i) {
          auto k = static_cast<size_t>(i);
          if (s->mask[k] && ReadReg(*s->frame, d.inst.a, i) != address) {
            s->mask[k] = 0;
            rest->mask[k] = 1;
            --s->count;
            ++rest->count;
          }
        }
        rest->lo = s->lo;
        rest->hi = s->hi;
        if (rest->count > 0) {
          Tighten(*rest);
          Tighten(*s);
          AddReady(rest);
        } else {
          FreeSplit(rest);
        }
        if (!DoCall(d, s, static_cast<uint32_t>(index), pc)) {
          launch_.stop = true;
          AddReady(s);
          return;
        }
        code = s->frame->fn->code.data();
        pc = 0;
        stop = UINT32_MAX;
        continue;
      }
      case Op::kRet:
        if (!DoRet(d, s)) launch_.stop = true;
        return;
      case Op::kTrap:
        Report(Finding::Kind::kTrap,
               d.inst.imm == 0 ? "__trap() was executed"
                               : "code that the compiler took to be unreachable was reached "
                                 "(undefined behaviour before it)",
               d.inst.line, 0, FirstLane(*s));
        launch_.stop = true;
        AddReady(s);
        return;
      case Op::kAssertFail:
        AssertFailed(d, *s);
        launch_.stop = true;
        AddReady(s);
        return;
      case Op::kBarrier:
        if (!ArriveBarrier(d, s)) return;
        break;
      case Op::kSyncWarp:
      case Op::kShfl:
      case Op::kVote:
      case Op::kBallot:
      case Op::kMatchAny:
      case Op::kMatchAll:
      case Op::kRedux:
        if (!ArriveWarp(d, s)) return;
        break;
      case Op::kActiveMask:
        for (int w = s->lo / launch_.width; w <= (s->hi - 1) / launch_.width; ++w) {
          Mask128 active = ActiveIn(*s, w);
          for (int i = 0; i < launch_.width; ++i) {
            if (active.Has(i))
              WriteReg(*s->frame, d.inst.dst, w * launch_.width + i,
                       d.inst.imm ? active.hi : active.lo);
          }
        }
        break;
      case Op::kGridSync:
        if (!launch_.options->cooperative) {
          Report(Finding::Kind::kBarrier,
                 "grid-wide synchronisation in a launch that is not cooperative", d.inst.line, 0,
                 FirstLane(*s));
          launch_.stop = true;
          AddReady(s);
          return;
        }
        grid_wait_.push_back(s);
        return;
      case Op::kLoad: Load(d, *s); break;
      case Op::kStore: Store(d, *s); break;
      case Op::kLea:
        ComputeAddresses(d, *s);
        if (d.dst_uniform)
          std::memcpy(s->frame->regs[d.inst.dst], address_.data(), 8);
        else
          Blend(s->frame->regs[d.inst.dst] + s->lo * 8, address_.data(), s->mask.data() + s->lo,
                s->hi - s->lo, 8);
        break;
      case Op::kMemCopy:
      case Op::kMemCopyDyn:
      case Op::kMemSet: CopyOrSet(d, *s); break;
      case Op::kAtomicRmw:
      case Op::kAtomicCas:
      case Op::kAtomicLoad:
      case Op::kAtomicStore: Atomic(d, *s); break;
      case Op::kFence: Fence(d, *s); break;
      case Op::kSpecial: ExecSpecial(d, *s); break;
      case Op::kClock: WriteUniformOr(d, *s, &dispatches_); break;
      case Op::kParamAddr: {
        uint64_t v =
            reinterpret_cast<uint64_t>(launch_.params.data()) + static_cast<uint64_t>(d.inst.imm);
        WriteUniformOr(d, *s, &v);
        break;
      }
      case Op::kSharedAddr: {
        uint64_t v = reinterpret_cast<uint64_t>(shared_) +
                     launch_.shared[static_cast<size_t>(d.inst.imm)].offset;
        WriteUniformOr(d, *s, &v);
        break;
      }
      case Op::kGlobalAddr:
        WriteUniformOr(d, *s, &launch_.module->global_address[static_cast<size_t>(d.inst.imm)]);
        break;
      case Op::kFuncAddr: {
        uint64_t v = isa::kFunctionAddressTag | static_cast<uint64_t>(d.inst.imm);
        WriteUniformOr(d, *s, &v);
        break;
      }
      case Op::kLocalAddr:
        for (int i = s->lo; i < s->hi; ++i) {
          address_[static_cast<size_t>(i - s->lo)] =
              reinterpret_cast<uint64_t>(stacks_) + static_cast<uint64_t>(i) * launch_.stack_bytes +
              s->frame->stack_offset + static_cast<uint64_t>(d.inst.imm);
        }
        // The writer never makes this uniform; if it did, this must not run over the one slot.
        if (d.dst_uniform)
          std::memcpy(s->frame->regs[d.inst.dst], address_.data(), 8);
        else
          Blend(s->frame->regs[d.inst.dst] + s->lo * 8, address_.data(), s->mask.data() + s->lo,
                s->hi - s->lo, 8);
        break;
      case Op::kProvOf: ProvenanceOf(d, *s); break;
      case Op::kPrintf: Printf(d, *s); break;
      case Op::kMalloc:
      case Op::kFree: DeviceHeap(d, *s); break;
      case Op::kNanosleep:
        // A polite spin gives way at once.
        if (!ready_.empty()) {
          ++s->round;
          slice = 0;
        }
        break;
      default:
        Report(Finding::Kind::kTrap,
               "instruction " + std::string(isa::OpName(d.inst.op)) +
                   " with operand types that it does not take",
               d.inst.line, 0, FirstLane(*s));
        launch_.stop = true;
        AddReady(s);
        return;
    }
    ++pc;
    s->pc = pc;
    stop = StopPc(*s);
  }
}

}  // namespace kuafu::simt
