// SPDX-License-Identifier: Apache-2.0
// Block copies and fills of one lane, and which allocation an address that came from nowhere names.
#include <algorithm>
#include <cstring>

#include "simt/engine.h"

namespace kuafu::simt {
namespace {

using isa::Op;

}  // namespace

void BlockRun::CopyOrSet(const DInst& d, Split& s) {
  const isa::Inst& inst = d.inst;
  const Frame& f = *s.frame;
  bool set = inst.op == Op::kMemSet;
  launch_.last_effect = launch_.result.dispatches;
  auto valid = [&](const Target& t, uint64_t a) -> bool {
    if (t.kind == Target::Kind::kLocal)
      return stack_valid_[a - reinterpret_cast<uint64_t>(stacks_)] != 0;
    if (t.kind == Target::Kind::kShared)
      return shared_shadow_.Written(a - reinterpret_cast<uint64_t>(shared_), 1);
    return t.allocation == nullptr || !t.allocation->tracked || t.allocation->Valid(a - t.base, 1);
  };
  for (int lane = s.lo; lane < s.hi && !launch_.stop; ++lane) {
    if (!s.mask[static_cast<size_t>(lane)]) continue;
    uint64_t to = ReadReg(f, inst.a, lane), from = 0;
    uint64_t size = set                          ? ReadReg(f, inst.c, lane)
                    : inst.op == Op::kMemCopyDyn ? ReadReg(f, inst.extra, lane)
                                                 : static_cast<uint64_t>(inst.imm);
    if (size == 0) continue;
    Target dst, src;
    if (!CheckLane(static_cast<uint32_t>(ReadReg(f, inst.b, lane)), f, lane, to, size, 1,
                   Access::kWrite, inst.line, &dst))
      continue;
    if (!set) {
      from = ReadReg(f, inst.c, lane);
      if (!CheckLane(static_cast<uint32_t>(ReadReg(f, inst.d, lane)), f, lane, from, size, 1,
                     Access::kRead, inst.line, &src))
        continue;
    }
    if (launch_.sampler != nullptr) {
      if (!set && ReadsUnknown(src, from, size)) return;
      LogWrite(dst, to, size);
    }
    if (launch_.options->sanitize) {
      std::vector<uint8_t> good(size, 1);
      for (uint64_t i = 0; !set && i < size; ++i) good[i] = valid(src, from + i);
      // Word by word, so that the shadow sees each once.
      for (uint64_t i = 0; i < size;) {
        auto step = static_cast<uint32_t>(std::min<uint64_t>(4 - ((to + i) & 3), size - i));
        if (!set) Note(src, lane, from + i, step, Access::kRead, false, true, inst.line);
        Note(dst, lane, to + i, step, Access::kWrite, false, false, inst.line);
        i += step;
      }
      for (uint64_t i = 0; i < size; ++i) {
        uint64_t a = to + i;
        if (dst.kind == Target::Kind::kLocal)
          stack_valid_[a - reinterpret_cast<uint64_t>(stacks_)] = good[i];
        if (dst.kind == Target::Kind::kShared && !good[i])
          shared_shadow_.Forget(a - reinterpret_cast<uint64_t>(shared_), 1);
        if (dst.allocation != nullptr && dst.allocation->tracked)
          dst.allocation->SetValid(a - dst.base, 1, good[i] != 0);
      }
    } else if (dst.allocation != nullptr && dst.allocation->tracked) {
      dst.allocation->SetValid(to - dst.base, size, true);
    }
    if (set)
      std::memset(reinterpret_cast<void*>(to),
                  inst.d == isa::kNoReg ? 0 : static_cast<int>(ReadReg(f, inst.d, lane)), size);
    else
      std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), size);
  }
}

uint32_t BlockRun::ProvenanceOfAddress(uint64_t address) const {
  auto shared = reinterpret_cast<uint64_t>(shared_);
  if (address >= shared && address < shared + launch_.shared_bytes + 64) {
    for (size_t i = 0; i < launch_.shared.size(); ++i) {
      const SharedSlot& slot = launch_.shared[i];
      if (slot.offset == SharedSlot::kAbsent) continue;
      if (address - shared >= slot.offset && address - shared <= slot.offset + slot.bytes) {
        return isa::kProvShared | static_cast<uint32_t>(i);
      }
    }
  }
  auto stack = reinterpret_cast<uint64_t>(stacks_);
  if (stacks_ != nullptr && address >= stack &&
      address - stack < uint64_t{launch_.stack_bytes} * static_cast<uint64_t>(n_)) {
    return isa::kProvLocalAny;
  }
  auto params = reinterpret_cast<uint64_t>(launch_.params.data());
  if (address >= params && address < params + launch_.params_bytes) return isa::kProvParam;
  return launch_.memory->IdOf(address);
}

void BlockRun::ProvenanceOf(const DInst& d, Split& s) {
  auto* a = reinterpret_cast<const uint64_t*>(s.frame->regs[d.a]);
  if (s.frame->scalar[d.a]) {
    uint32_t p = ProvenanceOfAddress(a[0]);
    WriteUniformOr(d, s, &p);
    return;
  }
  if (d.dst_uniform) {
    uint32_t p = ProvenanceOfAddress(a[FirstLane(s)]);
    WriteUniformOr(d, s, &p);
    return;
  }
  auto* out = reinterpret_cast<uint32_t*>(VectorDst(*s.frame, d.inst.dst, s, 4));
  uint64_t low = 1, high = 0;  // the allocation found last: neighbours mostly agree
  uint32_t last = 0;
  for (int i = s.lo; i < s.hi; ++i) {
    if (!s.mask[static_cast<size_t>(i)]) continue;
    if (a[i] < low || a[i] >= high) {
      last = ProvenanceOfAddress(a[i]);
      low = 1;
      high = 0;
      if (last != 0 && last < isa::kProvParam) {
        low = launch_.memory->Get(last)->base;
        high = low + launch_.memory->Get(last)->bytes;
      }
    }
    out[i] = last;
  }
}

}  // namespace kuafu::simt
