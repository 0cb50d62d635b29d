// SPDX-License-Identifier: Apache-2.0
// Addresses: computed for all lanes, resolved to one allocation, tested against its bounds in one
// go. Only when that test fails is each lane looked at by itself, to say which one and how far out.
#include <algorithm>
#include <cstring>

#include "simt/engine.h"

namespace kuafu::simt {
namespace {

using isa::Op;

void Touch(const Target& t, Access access) {
  if (t.allocation == nullptr) return;
  t.allocation->touched |= access == Access::kRead    ? Allocation::kRead
                           : access == Access::kWrite ? Allocation::kWritten
                                                      : Allocation::kRead | Allocation::kWritten;
}

template <class Index>
void Scaled(uint64_t* out, const uint64_t* a, bool ua, const Index* b, bool ub, int n,
            uint64_t scale, int64_t offset) {
  auto off = static_cast<uint64_t>(offset);
  if (ua && !ub) {
    uint64_t base = a[0] + off;
    for (int i = 0; i < n; ++i)
      out[i] = base + static_cast<uint64_t>(static_cast<int64_t>(b[i])) * scale;
  } else if (ub && !ua) {
    uint64_t add = static_cast<uint64_t>(static_cast<int64_t>(b[0])) * scale + off;
    for (int i = 0; i < n; ++i) out[i] = a[i] + add;
  } else if (!ua) {
    for (int i = 0; i < n; ++i)
      out[i] = a[i] + static_cast<uint64_t>(static_cast<int64_t>(b[i])) * scale + off;
  } else {
    uint64_t v = a[0] + static_cast<uint64_t>(static_cast<int64_t>(b[0])) * scale + off;
    for (int i = 0; i < n; ++i) out[i] = v;
  }
}

}  // namespace

bool BlockRun::Report(Finding::Kind kind, std::string message, uint32_t line, uint32_t other_line,
                      int lane, uint64_t address, const std::string& allocation, int other_lane,
                      int64_t other_block) {
  Finding f;
  f.kind = kind;
  f.message = std::move(message);
  f.address = address;
  f.allocation = allocation;
  auto thread = [&](int t, uint32_t* out) {
    auto u = static_cast<uint32_t>(std::max(t, 0));
    out[0] = u % launch_.block[0];
    out[1] = u / launch_.block[0] % launch_.block[1];
    out[2] = u / launch_.block[0] / launch_.block[1];
  };
  std::copy(ctaid_, ctaid_ + 3, f.block);
  thread(lane, f.thread);
  if (other_lane >= 0) {
    f.has_other = true;
    uint64_t b = other_block < 0 ? linear_ : static_cast<uint64_t>(other_block);
    f.other_block[0] = static_cast<uint32_t>(b % launch_.grid[0]);
    f.other_block[1] = static_cast<uint32_t>(b / launch_.grid[0] % launch_.grid[1]);
    f.other_block[2] = static_cast<uint32_t>(b / launch_.grid[0] / launch_.grid[1]);
    thread(other_lane, f.other_thread);
  }
  return launch_.Report(std::move(f), line, other_line);
}

// True: one address for all lanes, in address_[0] (and in the rest).
bool BlockRun::ComputeAddresses(const DInst& d, const Split& s) {
  const Frame& f = *s.frame;
  const bool one_a = f.scalar[d.a] != 0, one_b = f.scalar[d.b] != 0;
  const uint8_t* a = f.regs[d.a] + (one_a ? 0 : s.lo * 8);
  auto* base = reinterpret_cast<const uint64_t*>(a);
  int n = s.hi - s.lo;
  Op op = d.inst.op;
  bool indexed = (op == Op::kLoad || op == Op::kStore || op == Op::kLea) && d.inst.b != isa::kNoReg;
  uint64_t* out = address_.data();
  int64_t offset = d.inst.Offset();
  if (!indexed) {
    if (one_a)
      std::fill(out, out + n, base[0] + static_cast<uint64_t>(offset));
    else
      for (int i = 0; i < n; ++i) out[i] = base[i] + static_cast<uint64_t>(offset);
    return one_a;
  }
  const uint8_t* b = f.regs[d.b] + (one_b ? 0 : s.lo * d.bs);
  uint64_t scale = d.inst.Scale();
  if (d.index64)
    Scaled(out, base, one_a, reinterpret_cast<const int64_t*>(b), one_b, n, scale, offset);
  else
    Scaled(out, base, one_a, reinterpret_cast<const int32_t*>(b), one_b, n, scale, offset);
  return one_a && one_b;
}

Target BlockRun::Resolve(uint32_t provenance, const Frame& f) const {
  Target t;
  t.id = provenance;
  if (provenance == isa::kProvNone) return t;
  if ((provenance & isa::kProvShared) != 0) {
    uint32_t index = provenance & ~isa::kProvShared;
    if (index >= launch_.shared.size()) return t;
    t.kind = Target::Kind::kShared;
    t.base = reinterpret_cast<uint64_t>(shared_) + launch_.shared[index].offset;
    t.end = t.base + launch_.shared[index].bytes;
  } else if ((provenance & isa::kProvLocal) != 0) {
    t.kind = Target::Kind::kLocal;
    t.lane_stride = launch_.stack_bytes;
    t.base = reinterpret_cast<uint64_t>(stacks_);
    const isa::Function& fn = *f.fn->source;
    uint32_t index = provenance & ~isa::kProvLocal;
    if (provenance == isa::kProvLocalAny) {
      t.end = t.base + f.stack_offset + fn.frame_bytes;
    } else if (index < fn.locals.size()) {
      t.base += f.stack_offset + fn.locals[index].offset;
      t.end = t.base + fn.locals[index].bytes;
    } else {
      t.kind = Target::Kind::kNone;
    }
  } else if (provenance == isa::kProvParam) {
    t.kind = Target::Kind::kParam;
    t.base = reinterpret_cast<uint64_t>(launch_.params.data());
    t.end = t.base + launch_.params_bytes;
  } else if (Allocation* entry = launch_.memory->Get(provenance); entry != nullptr) {
    t.kind = Target::Kind::kGlobal;
    t.allocation = entry;
    t.base = entry->base;
    t.end = entry->base + entry->bytes;
  }
  return t;
}

bool BlockRun::AllSame(const DInst& d, const Split& s, uint32_t* value) const {
  if (d.inst.c == isa::kNoReg) {
    *value = isa::kProvNone;
    return true;
  }
  auto* p = reinterpret_cast<const uint32_t*>(s.frame->regs[d.c]);
  if (s.frame->scalar[d.c]) {
    *value = p[0];
    return true;
  }
  uint32_t v = p[FirstLane(s)], differ = 0;
  if (s.dense()) {
    for (int i = s.lo; i < s.hi; ++i) differ |= p[i] ^ v;
  } else {
    for (int i = s.lo; i < s.hi; ++i) differ |= s.mask[static_cast<size_t>(i)] ? p[i] ^ v : 0;
  }
  *value = v;
  return differ == 0;
}

// One lane, with a finding if the access is not allowed.
bool BlockRun::CheckLane(uint32_t provenance, const Frame& f, int lane, uint64_t address,
                         uint64_t size, uint64_t align, Access access, uint32_t line,
                         Target* target) {
  Target t = Resolve(provenance, f);
  *target = t;
  const char* verb = access == Access::kRead    ? "read"
                     : access == Access::kWrite ? "write"
                                                : "atomic operation";
  std::string what = std::to_string(size) + "-byte " + verb;
  if (t.kind == Target::Kind::kNone) {
    Report(Finding::Kind::kOob,
           what + (address < 4096 ? " through a null pointer"
                                  : " at an address of no device allocation (a host pointer?)"),
           line, 0, lane, address);
    return false;
  }
  uint64_t base = t.base + t.lane_stride * static_cast<uint64_t>(lane);
  uint64_t bytes = t.end - t.base;
  std::string name;
  if (t.kind == Target::Kind::kGlobal)
    name = t.allocation->name;
  else if (t.kind == Target::Kind::kShared)
    name = launch_.module->module.shared[t.id & ~isa::kProvShared].name;
  else if (t.kind == Target::Kind::kParam)
    name = "kernel parameters";
  else if (t.id == isa::kProvLocalAny)
    name = "local memory";
  else
    name = f.fn->source->locals[t.id & ~isa::kProvLocal].name;
  if (t.kind == Target::Kind::kGlobal && !t.allocation->live) {
    Report(Finding::Kind::kUseAfterFree, what + " of " + name + ", which was freed", line, 0, lane,
           address, name);
    return false;
  }
  if (bytes < size || address - base > bytes - size) {
    auto offset = static_cast<int64_t>(address - base);
    std::string kind = t.kind == Target::Kind::kShared  ? "shared "
                       : t.kind == Target::Kind::kLocal ? "local "
                                                        : "";
    Report(Finding::Kind::kOob,
           what + " at byte " + std::to_string(offset) + " of " + kind + name + ", which has " +
               std::to_string(bytes) + " bytes",
           line, 0, lane, address, name);
    return false;
  }
  if ((address & (align - 1)) != 0) {
    Report(Finding::Kind::kMisaligned,
           what + " at byte " + std::to_string(address - base) + " of " + name +
               " needs an address that is a multiple of " + std::to_string(align),
           line, 0, lane, address, name);
    return false;
  }
  if (t.kind == Target::Kind::kParam && access != Access::kRead) {
    Report(Finding::Kind::kOob, what + " to the kernel's parameters, which are read-only", line, 0,
           lane, address, name);
    return false;
  }
  Touch(t, access);
  return true;
}

// True: every active lane may go ahead, and inactive lanes have a harmless address. False: ok_ says
// who may. *target has kind kNone if lanes go to different allocations.
bool BlockRun::PrepareAccess(const DInst& d, Split& s, uint32_t size, Access access,
                             Target* target) {
  const bool one = ComputeAddresses(d, s);
  int n = s.hi - s.lo;
  uint64_t* address = address_.data();
  if (!s.dense() && !one) {
    uint64_t safe = address[FirstLane(s) - s.lo];
    const uint8_t* m = s.mask.data() + s.lo;
    for (int i = 0; i < n; ++i) address[i] = m[i] ? address[i] : safe;
  }
  uint64_t align = 1ull << std::min(d.inst.AlignLog2(), 12u);
  if (access == Access::kAtomic) align = std::max<uint64_t>(align, size);
  uint32_t provenance = 0;
  bool same = AllSame(d, s, &provenance);
  *target = {};
  if (same) {
    Target t = Resolve(provenance, *s.frame);
    *target = t;
    bool usable = t.kind != Target::Kind::kNone && t.end - t.base >= size &&
                  (t.allocation == nullptr || t.allocation->live) &&
                  (t.kind != Target::Kind::kParam || access == Access::kRead) &&
                  (t.lane_stride == 0 || s.dense());
    if (usable) {
      uint64_t limit = t.end - t.base - size, low = align - 1, base = t.base, bad = 0;
      if (t.lane_stride == 0) {
        if (one) {
          bad = static_cast<uint64_t>(address[0] - base > limit) | (address[0] & low);
        } else {
          for (int i = 0; i < n; ++i)
            bad |= static_cast<uint64_t>(address[i] - base > limit) | (address[i] & low);
        }
      } else {
        base += t.lane_stride * static_cast<uint64_t>(s.lo);
        for (int i = 0; i < n; ++i) {
          bad |= static_cast<uint64_t>(
                     address[i] - (base + t.lane_stride * static_cast<uint64_t>(i)) > limit) |
                 (address[i] & low);
        }
      }
      if (bad == 0) {
        Touch(t, access);
        return true;
      }
    }
  }
  bool clean = s.dense();
  for (int i = 0; i < n; ++i) {
    auto k = static_cast<size_t>(i);
    int lane = s.lo + i;
    ok_[k] = 0;
    if (!s.mask[static_cast<size_t>(lane)]) continue;
    if (!same) provenance = static_cast<uint32_t>(ReadReg(*s.frame, d.inst.c, lane));
    Target t;
    ok_[k] =
        CheckLane(provenance, *s.frame, lane, address[i], size, align, access, d.inst.line, &t);
    clean = clean && ok_[k];
    if (launch_.stop) {
      std::fill(ok_.begin() + i, ok_.begin() + n, uint8_t{0});
      return false;
    }
  }
  return clean;
}

// The quick way for a split without gaps whose lanes all go to one allocation and are all allowed
// to: pattern_ says where. False: PrepareAccess finds out what is the matter.
bool BlockRun::FindPattern(const DInst& d, const Split& s, uint32_t size, Access access,
                           Target* target) {
  uint32_t provenance = 0;
  if (!s.dense() || !AllSame(d, s, &provenance)) return false;
  const Frame& f = *s.frame;
  const Target t = Resolve(provenance, f);
  if (t.kind == Target::Kind::kNone || t.end - t.base < size ||
      (t.allocation != nullptr && !t.allocation->live) ||
      (t.kind == Target::Kind::kParam && access != Access::kRead))
    return false;
  *target = t;
  Touch(t, access);
  const int n = s.hi - s.lo;
  const uint64_t align = 1ull << std::min(d.inst.AlignLog2(), 12u);
  const uint64_t low = t.base, high = t.end - size;
  if (t.lane_stride != 0) {
    ComputeAddresses(d, s);
    const uint64_t* address = address_.data();
    uint64_t base = low + t.lane_stride * static_cast<uint64_t>(s.lo), bad = 0;
    for (int i = 0; i < n; ++i) {
      bad |= static_cast<uint64_t>(address[i] - (base + t.lane_stride * static_cast<uint64_t>(i)) >
                                   high - low) |
             (address[i] & (align - 1));
    }
    pattern_.shape = Pattern::Shape::kChunks;
    pattern_.index = nullptr;
    pattern_.address = address;
    std::memset(pattern_.chunk, Pattern::kGather, static_cast<size_t>(n / kChunk + 1));
    return bad == 0;
  }
  const bool indexed = d.inst.b != isa::kNoReg;
  if (f.scalar[d.a] && (!indexed || !d.index64 || f.scalar[d.b])) {
    uint64_t base = 0;
    std::memcpy(&base, f.regs[d.a], 8);
    base += static_cast<uint64_t>(int64_t{d.inst.Offset()});
    const uint64_t scale = d.inst.Scale();
    if (!indexed || f.scalar[d.b]) {
      if (indexed) {
        int64_t index = 0;
        std::memcpy(&index, f.regs[d.b], d.index64 ? 8 : 4);
        if (!d.index64) index = static_cast<int32_t>(index);
        base += static_cast<uint64_t>(index) * scale;
      }
      pattern_.shape = n == 1 ? Pattern::Shape::kRun : Pattern::Shape::kSame;
      pattern_.first = base;
      return base - low <= high - low && (base & (align - 1)) == 0;
    }
    if (scale > 0 && ((base | scale) & (align - 1)) == 0) {
      auto* index = reinterpret_cast<const int32_t*>(f.regs[d.b]) + s.lo;
      return ClassifyIndex(pattern_, index, n, base, scale, low, high, size);
    }
  }
  ComputeAddresses(d, s);
  return ClassifyAddress(pattern_, address_.data(), n, low, high, align, size);
}

}  // namespace kuafu::simt
