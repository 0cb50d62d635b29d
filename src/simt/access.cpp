// SPDX-License-Identifier: Apache-2.0
// Loads, stores and copies: addresses for all lanes, one bounds test for all lanes, then the
// transfer. Only when that test fails is each lane looked at by itself, to say which one and how
// far out.
#include <algorithm>
#include <cstring>

#include "simt/engine.h"

namespace kuafu::simt {
namespace {

using isa::Op;

template <class T>
void Gather(void* out, const uint64_t* address, int n, uint64_t extra) {
  T* to = static_cast<T*>(out);
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) {
    T v;
    std::memcpy(&v, reinterpret_cast<const void*>(address[i] + extra), sizeof v);
    to[i] = v;
  }
}
template <class T>
void GatherOk(void* out, const uint64_t* address, const uint8_t* ok, int n, uint64_t extra) {
  T* to = static_cast<T*>(out);
  for (int i = 0; i < n; ++i) {
    T v = 0;
    if (ok[i]) std::memcpy(&v, reinterpret_cast<const void*>(address[i] + extra), sizeof v);
    to[i] = v;
  }
}
template <class T>
void Scatter(const void* from, bool uniform, const uint64_t* address, const uint8_t* ok, int n,
             uint64_t extra) {
  const T* in = static_cast<const T*>(from);
  if (ok == nullptr && !uniform) {
    for (int i = 0; i < n; ++i)
      std::memcpy(reinterpret_cast<void*>(address[i] + extra), &in[i], sizeof(T));
    return;
  }
  for (int i = 0; i < n; ++i) {
    if (ok == nullptr || ok[i])
      std::memcpy(reinterpret_cast<void*>(address[i] + extra), &in[uniform ? 0 : i], sizeof(T));
  }
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

void BlockRun::ComputeAddresses(const DInst& d, const Split& s) {
  const uint8_t* a = s.frame->regs[d.a] + s.lo * d.as;
  auto* base = reinterpret_cast<const uint64_t*>(a);
  int n = s.hi - s.lo;
  Op op = d.inst.op;
  bool indexed = (op == Op::kLoad || op == Op::kStore || op == Op::kLea) && d.inst.b != isa::kNoReg;
  uint64_t* out = address_.data();
  int64_t offset = d.inst.Offset();
  if (!indexed) {
    if (d.as == 0)
      std::fill(out, out + n, base[0] + static_cast<uint64_t>(offset));
    else
      for (int i = 0; i < n; ++i) out[i] = base[i] + static_cast<uint64_t>(offset);
    return;
  }
  const uint8_t* b = s.frame->regs[d.b] + s.lo * d.bs;
  uint64_t scale = d.inst.Scale();
  if (d.index64)
    Scaled(out, base, d.as == 0, reinterpret_cast<const int64_t*>(b), d.bs == 0, n, scale, offset);
  else
    Scaled(out, base, d.as == 0, reinterpret_cast<const int32_t*>(b), d.bs == 0, n, scale, offset);
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
  if (d.cs == 0) {
    *value = p[0];
    return true;
  }
  uint32_t v = p[FirstLane(s)], differ = 0;
  for (int i = s.lo; i < s.hi; ++i) differ |= s.mask[static_cast<size_t>(i)] ? p[i] ^ v : 0;
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
  return true;
}

// True: every active lane may go ahead, and inactive lanes have a harmless address. False: ok_ says
// who may. *target has kind kNone if lanes go to different allocations.
bool BlockRun::PrepareAccess(const DInst& d, Split& s, uint32_t size, Access access,
                             Target* target) {
  ComputeAddresses(d, s);
  int n = s.hi - s.lo;
  uint64_t* address = address_.data();
  if (!s.dense() && d.as + d.bs != 0) {
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
        if (d.as + (d.inst.op == Op::kAtomicCas ? 0 : d.bs) == 0) {
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
      if (bad == 0) return true;
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

void BlockRun::ReportRace(const Conflict& c, const Target& t, int lane, uint64_t address,
                          Access access, uint32_t line) {
  std::string name = t.kind == Target::Kind::kGlobal
                         ? t.allocation->name
                         : launch_.module->module.shared[t.id & ~isa::kProvShared].name;
  bool same_block = c.other.block == static_cast<uint32_t>(linear_);
  std::string mine = access == Access::kRead    ? "read"
                     : access == Access::kWrite ? "write"
                                                : "atomic operation";
  std::string other = (c.other.flags & kCellAtomic) != 0 ? "atomic operation"
                      : c.other_wrote                    ? "write"
                                                         : "read";
  Report(Finding::Kind::kRace,
         "race on " + std::string(t.kind == Target::Kind::kShared ? "shared " : "") + name +
             "[byte " + std::to_string(address - t.base) + "]: " + mine + " and " + other +
             " by another " + (same_block ? "thread" : "block") +
             " with no synchronisation between them",
         line, c.other.line, lane, address, name, c.other.lane,
         same_block ? static_cast<int64_t>(linear_) : static_cast<int64_t>(c.other.block));
}

// Reads of memory that is initialised and that this launch does not write need no shadow work.
bool BlockRun::Unwatched(const Target& t) const {
  const GlobalShadow& shadow = *launch_.shadow;
  return t.kind == Target::Kind::kGlobal && !t.allocation->tracked &&
         t.id < shadow.read_only.size() && shadow.read_only[t.id] != 0;
}

// Shadow work of one lane's access that is known to be in bounds. `atomic` covers volatile as well.
void BlockRun::Note(const Target& t, int lane, uint64_t address, uint32_t size, Access access,
                    bool atomic, bool copy, uint32_t line) {
  bool write = access != Access::kRead;
  bool reads = access != Access::kWrite;
  if (t.kind == Target::Kind::kLocal) {
    size_t at = address - reinterpret_cast<uint64_t>(stacks_);
    if (write)
      std::memset(stack_valid_.data() + at, 1, size);
    else if (!copy && std::memchr(stack_valid_.data() + at, 0, size) != nullptr) {
      Report(Finding::Kind::kUninit, "read of a local variable that was not written", line, 0, lane,
             address, "local memory");
    }
    return;
  }
  if (t.kind == Target::Kind::kShared) {
    size_t at = address - reinterpret_cast<uint64_t>(shared_);
    if (reads && !copy && std::memchr(shared_valid_.data() + at, 0, size) != nullptr) {
      const std::string& name = launch_.module->module.shared[t.id & ~isa::kProvShared].name;
      Report(Finding::Kind::kUninit,
             "read of shared " + name + "[byte " + std::to_string(address - t.base) +
                 "], which no thread of the block has written",
             line, 0, lane, address, name);
    }
    if (write) std::memset(shared_valid_.data() + at, 1, size);
    for (uint64_t a = at & ~uint64_t{3}; a < at + size; a += 4) {
      uint64_t from = std::max<uint64_t>(a, at), to = std::min<uint64_t>(a + 4, at + size);
      auto bytes = static_cast<uint8_t>(((1u << (to - from)) - 1) << (from - a));
      // Cells from before the last barrier are harmless, whichever block of this context left them.
      Conflict c =
          Touch(shared_shadow_.At(a), sync_, lane, bytes, write, atomic, line, sync_.barrier_tick);
      if (c.found) ReportRace(c, t, lane, address, access, line);
    }
    return;
  }
  if (t.kind != Target::Kind::kGlobal) return;
  Allocation& entry = *t.allocation;
  if (reads && !copy && entry.tracked && !entry.Valid(address - entry.base, size)) {
    Report(Finding::Kind::kUninit,
           "read of " + entry.name + "[byte " + std::to_string(address - entry.base) +
               "], which was never written",
           line, 0, lane, address, entry.name);
  }
  GlobalShadow& shadow = *launch_.shadow;
  if (t.id < shadow.read_only.size() && shadow.read_only[t.id]) {
    if (!write) return;
    shadow.read_only[t.id] = 0;
  }
  for (uint64_t a = address & ~uint64_t{3}; a < address + size; a += 4) {
    uint64_t from = std::max(a, address), to = std::min(a + 4, address + size);
    auto bytes = static_cast<uint8_t>(((1u << (to - from)) - 1) << (from - a));
    Word* word = shadow.At(a);
    if (word == nullptr) return;
    Conflict c = Touch(*word, sync_, lane, bytes, write, atomic, line, shadow.grid_tick);
    if (c.found) ReportRace(c, t, lane, address, access, line);
  }
  if (write && !atomic) sync_.fenced[static_cast<size_t>(lane)] = 0;
}

// Plain accesses of whole words of one shared variable by all lanes with ok (nullptr: all).
void BlockRun::NoteShared(const Target& t, const Split& s, const uint8_t* ok, uint32_t size,
                          Access access, bool copy, uint32_t line) {
  auto base = reinterpret_cast<uint64_t>(shared_);
  bool write = access == Access::kWrite;
  for (int i = 0; i < s.hi - s.lo; ++i) {
    if (ok != nullptr && !ok[i]) continue;
    uint64_t at = address_[static_cast<size_t>(i)] - base;
    bool fast = (at & 3) == 0;
    for (uint32_t w = 0; fast && w < size; w += 4) {
      uint32_t valid = 0x01010101;
      if (write) {
        std::memcpy(&shared_valid_[at + w], &valid, 4);
      } else {
        std::memcpy(&valid, &shared_valid_[at + w], 4);
        fast = valid == 0x01010101;
      }
      fast = fast && TouchFast(shared_shadow_.At(at + w), sync_, s.lo + i, write, line);
    }
    if (!fast) Note(t, s.lo + i, base + at, size, access, false, copy, line);
  }
}

void BlockRun::Load(const DInst& d, Split& s) {
  uint32_t components = std::max(d.inst.Components(), 1u);
  auto bytes = static_cast<uint32_t>(isa::TypeBytes(d.inst.type));
  uint32_t size = components * bytes;
  Target target;
  bool clean = PrepareAccess(d, s, size, Access::kRead, &target);
  bool dirty = !clean;
  int n = s.hi - s.lo;
  const uint64_t* address = address_.data();
  bool is_volatile = (d.inst.aux & isa::kMemVolatile) != 0,
       copy = (d.inst.aux & isa::kMemCopy) != 0;
  if (target.kind == Target::Kind::kShared) ++launch_.result.shared_accesses;
  if (target.kind == Target::Kind::kGlobal)
    launch_.result.global_load_bytes += static_cast<uint64_t>(s.count) * size;
  if (is_volatile) {
    ++launch_.polls;
    launch_.poll_line = d.inst.line;
  }
  if (launch_.options->sanitize && target.kind == Target::Kind::kShared && size % 4 == 0) {
    const uint8_t* ok = dirty ? ok_.data() : s.dense() ? nullptr : s.mask.data() + s.lo;
    NoteShared(target, s, ok, size, Access::kRead, copy, d.inst.line);
  } else if (launch_.options->sanitize && target.kind != Target::Kind::kParam &&
             !Unwatched(target)) {
    bool varies = target.kind == Target::Kind::kNone;
    for (int i = 0; i < n; ++i) {
      int lane = s.lo + i;
      if (!s.mask[static_cast<size_t>(lane)] || (dirty && !ok_[static_cast<size_t>(i)])) continue;
      Target t = varies
                     ? Resolve(static_cast<uint32_t>(ReadReg(*s.frame, d.inst.c, lane)), *s.frame)
                     : target;
      if (is_volatile && t.kind == Target::Kind::kGlobal)
        launch_.shadow->Acquire(address[i], sync_, lane);
      // Volatile counts as atomic between blocks, where it is used for flags; in shared memory it
      // is what old warp-synchronous code relies on, and that is no longer ordered.
      Note(t, lane, address[i], size, Access::kRead, is_volatile && t.kind == Target::Kind::kGlobal,
           copy, d.inst.line);
    }
  }
  bool single = d.as == 0 && (d.inst.b == isa::kNoReg || d.bs == 0);
  for (uint32_t c = 0; c < components; ++c) {
    uint8_t* dst = s.frame->regs[d.inst.dst + c];
    uint64_t extra = static_cast<uint64_t>(c) * bytes;
    if (d.dst_uniform || (single && !dirty)) {
      uint64_t value = 0;
      int first = FirstLane(s) - s.lo;
      if (!dirty || ok_[static_cast<size_t>(first)])
        std::memcpy(&value, reinterpret_cast<void*>(address[first] + extra), bytes);
      if (d.inst.type == isa::Type::kI1) value &= 1;
      if (d.dst_uniform)
        std::memcpy(dst, &value, bytes);
      else if (s.dense())
        Fill(dst + s.lo * static_cast<int>(bytes), &value, n, static_cast<int>(bytes));
      else {
        Fill(scratch_.data(), &value, n, static_cast<int>(bytes));
        Blend(dst + s.lo * static_cast<int>(bytes), scratch_.data(), s.mask.data() + s.lo, n,
              static_cast<int>(bytes));
      }
      continue;
    }
    uint8_t* out = dst + s.lo * static_cast<int>(bytes);
    uint8_t* to = s.dense() ? out : scratch_.data();
    switch (bytes) {
#define GATHER(N, T)                                                                           \
  case N:                                                                                      \
    dirty ? GatherOk<T>(to, address, ok_.data(), n, extra) : Gather<T>(to, address, n, extra); \
    break;
      GATHER(1, uint8_t) GATHER(2, uint16_t) GATHER(4, uint32_t) GATHER(8, uint64_t)
#undef GATHER
    }
    if (d.inst.type == isa::Type::kI1) {
      for (int i = 0; i < n; ++i) to[i] &= 1;
    }
    if (!s.dense()) Blend(out, to, s.mask.data() + s.lo, n, static_cast<int>(bytes));
  }
}

void BlockRun::Store(const DInst& d, Split& s) {
  uint32_t components = std::max(d.inst.Components(), 1u);
  auto bytes = static_cast<uint32_t>(isa::TypeBytes(d.inst.type));
  uint32_t size = components * bytes;
  Target target;
  bool clean = PrepareAccess(d, s, size, Access::kWrite, &target);
  int n = s.hi - s.lo;
  const uint64_t* address = address_.data();
  const uint8_t* ok = nullptr;
  if (!clean)
    ok = ok_.data();
  else if (!s.dense())
    ok = s.mask.data() + s.lo;
  bool is_volatile = (d.inst.aux & isa::kMemVolatile) != 0;
  if (target.kind != Target::Kind::kLocal) {
    launch_.last_effect = launch_.result.dispatches;
    launch_.polls = 0;
  }
  if (target.kind == Target::Kind::kShared) ++launch_.result.shared_accesses;
  if (target.kind == Target::Kind::kGlobal)
    launch_.result.global_store_bytes += static_cast<uint64_t>(s.count) * size;
  bool varies = target.kind == Target::Kind::kNone;
  bool tracked = varies || (target.allocation != nullptr && target.allocation->tracked);
  if (launch_.options->sanitize && target.kind == Target::Kind::kShared && size % 4 == 0) {
    NoteShared(target, s, ok, size, Access::kWrite, false, d.inst.line);
  } else if (launch_.options->sanitize || tracked) {
    for (int i = 0; i < n; ++i) {
      if (ok != nullptr && !ok[i]) continue;
      int lane = s.lo + i;
      Target t = varies
                     ? Resolve(static_cast<uint32_t>(ReadReg(*s.frame, d.inst.c, lane)), *s.frame)
                     : target;
      if (launch_.options->sanitize) {
        if (is_volatile && t.kind == Target::Kind::kGlobal &&
            sync_.fenced[static_cast<size_t>(lane)]) {
          launch_.shadow->Release(address[i], sync_, sync_.fenced[static_cast<size_t>(lane)] == 2);
        }
        Note(t, lane, address[i], size, Access::kWrite,
             is_volatile && t.kind == Target::Kind::kGlobal, false, d.inst.line);
      }
      if (t.allocation != nullptr && t.allocation->tracked)
        t.allocation->SetValid(address[i] - t.base, size, true);
    }
  }
  for (uint32_t c = 0; c < components; ++c) {
    uint32_t reg = d.inst.d + c;
    bool uniform = s.frame->fn->source->registers[reg].uniform;
    const uint8_t* from = s.frame->regs[reg] + (uniform ? 0 : s.lo * static_cast<int>(bytes));
    uint64_t extra = static_cast<uint64_t>(c) * bytes;
    switch (bytes) {
      case 1: Scatter<uint8_t>(from, uniform, address, ok, n, extra); break;
      case 2: Scatter<uint16_t>(from, uniform, address, ok, n, extra); break;
      case 4: Scatter<uint32_t>(from, uniform, address, ok, n, extra); break;
      default: Scatter<uint64_t>(from, uniform, address, ok, n, extra); break;
    }
  }
}

void BlockRun::CopyOrSet(const DInst& d, Split& s) {
  const isa::Inst& inst = d.inst;
  const Frame& f = *s.frame;
  bool set = inst.op == Op::kMemSet;
  launch_.last_effect = launch_.result.dispatches;
  auto valid = [&](const Target& t, uint64_t a) -> bool {
    if (t.kind == Target::Kind::kLocal)
      return stack_valid_[a - reinterpret_cast<uint64_t>(stacks_)] != 0;
    if (t.kind == Target::Kind::kShared)
      return shared_valid_[a - reinterpret_cast<uint64_t>(shared_)] != 0;
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
        if (dst.kind == Target::Kind::kShared)
          shared_valid_[a - reinterpret_cast<uint64_t>(shared_)] = good[i];
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
      if (slot.offset == UINT32_MAX) continue;
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
  if (d.as == 0) {
    uint32_t p = ProvenanceOfAddress(a[0]);
    WriteUniformOr(d, s, &p);
    return;
  }
  if (d.dst_uniform) {
    uint32_t p = ProvenanceOfAddress(a[FirstLane(s)]);
    WriteUniformOr(d, s, &p);
    return;
  }
  auto* out = reinterpret_cast<uint32_t*>(s.frame->regs[d.inst.dst]);
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
