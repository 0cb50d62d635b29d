// SPDX-License-Identifier: Apache-2.0
// Calls, returns and the end of threads.
#include <cstring>

#include "simt/engine.h"

namespace kuafu::simt {
namespace {

constexpr int kMaxDepth = 256;

}  // namespace

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
  if (counter_ != nullptr && alive_ == 0) counter_->End();
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
    auto bytes = static_cast<size_t>(size);
    bool scalar = from->scalar[source] != 0;
    f->scalar[dest] = scalar || dr.uniform;
    if (f->scalar[dest]) {
      std::memcpy(f->regs[dest], from->regs[source] + (scalar ? 0 : FirstLane(*s) * size), bytes);
    } else {
      std::memcpy(f->regs[dest] + s->lo * size, from->regs[source] + s->lo * size,
                  static_cast<size_t>(count) * bytes);
    }
  }
  if (callee.frame_bytes > 0 && stacks_ != nullptr) {
    for (int i = s->lo; i < s->hi; ++i) {
      if (s->mask[static_cast<size_t>(i)] == 0) continue;
      ClearLocals(static_cast<size_t>(i), f->stack_offset, callee.frame_bytes);
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
    if (f->scalar[source])
      WriteScalar(*to, dest, *s, f->regs[source], size);
    else
      WriteVector(*to, dest, *s, f->regs[source] + s->lo * size, size);
  }
  f->live -= s->count;
  s->frame = to;
  s->pc = f->call_pc + 1;
  if (f->live == 0) FreeFrame(f);
  AddReady(s);
  return true;
}

}  // namespace kuafu::simt
