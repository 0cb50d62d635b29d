// SPDX-License-Identifier: Apache-2.0
// The state of one block: frames of registers, splits, and which split runs next. See engine.h.
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "simt/engine.h"

namespace kuafu::simt {
namespace {

alignas(64) uint8_t zero_slot[64] = {};

size_t RoundUp64(size_t v) { return (v + 63) & ~size_t{63}; }

}  // namespace

Frame::~Frame() { std::free(memory); }

BlockRun::BlockRun(LaunchState& launch) : launch_(launch), n_(launch.n) {
  size_t lanes = RoundUp64(static_cast<size_t>(n_));
  address_.resize(lanes);
  ok_.resize(lanes);
  scratch_.resize(lanes * 8);
  free_frames_.resize(launch.module->functions.size());
  shared_ = static_cast<uint8_t*>(
      std::aligned_alloc(1024, (launch.shared_bytes + 128 + 1023) & ~size_t{1023}));
  sync_.tick = launch.shadow == nullptr ? 1 : launch.shadow->grid_tick;
  if (launch.options->sanitize) {
    shared_shadow_.Resize(launch.shared_bytes + 64,
                          launch.module->functions[launch.kernel].shared_granule_log2);
  }
  if (launch.counter != nullptr)
    counter_ = std::make_unique<BlockCounter>(*launch.counter, launch.width, launch.warps);
  // Pages nobody touches cost nothing.
  stacks_bytes_ = static_cast<size_t>(launch.stack_bytes) * static_cast<size_t>(n_);
  if (stacks_bytes_ > 0) {
    size_t bytes = launch.options->sanitize ? stacks_bytes_ * 2 : stacks_bytes_;
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    stacks_ = p == MAP_FAILED ? nullptr : static_cast<uint8_t*>(p);
    if (stacks_ != nullptr && launch.options->sanitize) stack_valid_ = stacks_ + stacks_bytes_;
  }
}

BlockRun::~BlockRun() {
  std::free(shared_);
  if (stacks_ != nullptr)
    munmap(stacks_, stack_valid_ != nullptr ? stacks_bytes_ * 2 : stacks_bytes_);
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
  if (counter_ != nullptr) counter_->Start();
  given_up_ = false;
  exited_.assign(static_cast<size_t>(n_), 0);
  exit_line_.assign(static_cast<size_t>(n_), 0);
  rng_ =
      (launch_.options->order_seed * 0x9e3779b97f4a7c15ull ^ (linear + 1) * 0xbf58476d1ce4e5b9ull) |
      1;
  std::memset(shared_, Memory::kPoisonByte, launch_.shared_bytes + 64);
  sync_.Reset(static_cast<uint32_t>(linear), n_, launch_.width);
  if (launch_.options->sanitize) shared_shadow_.StartBlock(sync_);
  Frame* root = NewFrame(launch_.kernel, nullptr, 0);
  root->live = n_;
  const isa::Function& kernel = *root->fn->source;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const isa::Param& p = kernel.params[i];
    if (p.reg != isa::kNoReg) {
      int size = isa::TypeBytes(kernel.registers[p.reg].type);
      const uint8_t* from = launch_.params.data() + p.offset;
      std::memcpy(root->regs[p.reg], from, static_cast<size_t>(size));
      root->scalar[p.reg] = 1;
    }
    if (p.prov_reg != isa::kNoReg) {
      uint32_t provenance = launch_.param_provenance[i];
      std::memcpy(root->regs[p.prov_reg], &provenance, 4);
      root->scalar[p.prov_reg] = 1;
    }
  }
  if (kernel.frame_bytes > 0 && stacks_ != nullptr) {
    for (size_t i = 0; i < static_cast<size_t>(n_); ++i) ClearLocals(i, 0, kernel.frame_bytes);
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

void BlockRun::ClearLocals(size_t lane, uint32_t stack_offset, uint32_t bytes) {
  size_t at = lane * launch_.stack_bytes + stack_offset;
  std::memset(stacks_ + at, Memory::kPoisonByte, bytes);
  if (stack_valid_ != nullptr) std::memset(stack_valid_ + at, 0, bytes);
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
  const uint8_t* m = s.mask.data();
  auto eight = [&](int at) {
    uint64_t v;
    std::memcpy(&v, m + at, 8);
    return v;
  };
  while (s.hi - s.lo >= 8 && eight(s.lo) == 0) s.lo += 8;
  while (s.lo < s.hi && m[s.lo] == 0) ++s.lo;
  while (s.hi - s.lo >= 8 && eight(s.hi - 8) == 0) s.hi -= 8;
  while (s.hi > s.lo && m[s.hi - 1] == 0) --s.hi;
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
    f->scalar.assign(f->regs.size(), 0);
    f->scalar.back() = 1;
    const isa::Function& source = *fn.source;
    for (size_t i = 0; i < source.registers.size(); ++i) f->scalar[i] = source.registers[i].uniform;
    for (const isa::Constant& c : source.constants) {
      auto size = static_cast<size_t>(isa::TypeBytes(source.registers[c.reg].type));
      std::memcpy(f->regs[c.reg], &c.bits, size);
      f->scalar[c.reg] = 1;
    }
  }
  f->parent = parent;
  f->call_pc = call_pc;
  f->depth = parent == nullptr ? 0 : parent->depth + 1;
  f->stack_offset = parent == nullptr
                        ? 0
                        : parent->stack_offset + ((parent->fn->source->frame_bytes + 15) & ~15u);
  f->live = 0;
  if (counter_ != nullptr) f->ready.assign(f->regs.size(), 0);
  return f;
}

void BlockRun::FreeFrame(Frame* frame) { free_frames_[frame->index].push_back(frame); }

int BlockRun::FirstLane(const Split& s) const {
  int i = s.lo;
  while (i < s.hi - 1 && s.mask[static_cast<size_t>(i)] == 0) ++i;
  return i;
}

uint64_t BlockRun::ReadReg(const Frame& f, uint32_t reg, int lane) const {
  int size = isa::TypeBytes(f.fn->source->registers[reg].type);
  uint64_t value = 0;
  std::memcpy(&value, f.regs[reg] + (f.scalar[reg] ? 0 : lane * size), static_cast<size_t>(size));
  return value;
}

void BlockRun::WriteReg(Frame& f, uint32_t reg, int lane, uint64_t value) {
  if (reg == isa::kNoReg) return;
  const isa::Register& r = f.fn->source->registers[reg];
  int size = isa::TypeBytes(r.type);
  if (f.scalar[reg] && !r.uniform) {
    Fill(f.regs[reg], f.regs[reg], n_, size);
    f.scalar[reg] = 0;
  }
  std::memcpy(f.regs[reg] + (r.uniform ? 0 : lane * size), &value, static_cast<size_t>(size));
}

// The register, which is not uniform, with a value per lane, about to be written by the split.
uint8_t* BlockRun::VectorDst(Frame& f, uint32_t reg, const Split& s, int size) {
  uint8_t* data = f.regs[reg];
  if (f.scalar[reg]) {
    if (s.count != f.live) Fill(data, data, n_, size);
    f.scalar[reg] = 0;
  }
  return data;
}

// One value for all lanes of the split. If these are all that use the frame, the register becomes
// scalar: later instructions read one value and compute once.
void BlockRun::WriteScalar(Frame& f, uint32_t reg, const Split& s, const void* value, int size) {
  if (s.count == f.live || f.fn->source->registers[reg].uniform) {
    std::memcpy(f.regs[reg], value, static_cast<size_t>(size));
    f.scalar[reg] = 1;
    return;
  }
  uint8_t* out = VectorDst(f, reg, s, size) + s.lo * size;
  if (s.dense()) {
    Fill(out, value, s.hi - s.lo, size);
  } else {
    Fill(scratch_.data(), value, s.hi - s.lo, size);
    Blend(out, scratch_.data(), s.mask.data() + s.lo, s.hi - s.lo, size);
  }
}

void BlockRun::WriteUniformOr(const DInst& d, Split& s, const void* value) {
  if (d.inst.dst != isa::kNoReg) WriteScalar(*s.frame, d.inst.dst, s, value, d.ds);
}

// values[0] is lane s.lo's.
void BlockRun::WriteVector(Frame& f, uint32_t reg, const Split& s, const void* values, int size) {
  if (f.fn->source->registers[reg].uniform) {
    // The writer never does this; it must not run over the one slot.
    std::memcpy(f.regs[reg], static_cast<const uint8_t*>(values) + (FirstLane(s) - s.lo) * size,
                static_cast<size_t>(size));
    return;
  }
  uint8_t* out = VectorDst(f, reg, s, size) + s.lo * size;
  if (s.dense())
    std::memcpy(out, values, static_cast<size_t>((s.hi - s.lo) * size));
  else
    Blend(out, values, s.mask.data() + s.lo, s.hi - s.lo, size);
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
    counter_ == nullptr ? RunSplit<false>(s, limit) : RunSplit<true>(s, limit);
    if (given_up_) break;
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

}  // namespace kuafu::simt
