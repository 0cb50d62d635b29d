// SPDX-License-Identifier: Apache-2.0
// Loads and stores: by pattern if the split has no gaps and every lane may, or lane by lane.
#include <algorithm>
#include <cstring>

#include "simt/engine.h"

namespace kuafu::simt {
namespace {

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
void ScatterLanes(const void* from, bool uniform, const uint64_t* address, const uint8_t* ok, int n,
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

}  // namespace

// True: the block is given up, because nobody knows what it would read here.
bool BlockRun::ReadsUnknown(const Target& t, uint64_t address, uint64_t size) {
  if (t.kind != Target::Kind::kGlobal || t.allocation->unknown.empty()) return false;
  given_up_ = given_up_ || !t.allocation->Known(address - t.base, size);
  return given_up_;
}

// The writes of pattern_ by n lanes.
void BlockRun::LogPattern(const Target& t, int n, uint32_t size) {
  if (pattern_.shape != Pattern::Shape::kChunks) {
    const auto count = pattern_.shape == Pattern::Shape::kRun ? static_cast<uint64_t>(n) : 1;
    return LogWrite(t, pattern_.first, count * size);
  }
  for (int i = 0; i < n; ++i) LogWrite(t, pattern_.At(i), size);
}

void BlockRun::Load(const DInst& d, Split& s) {
  const uint32_t components = std::max(d.inst.Components(), 1u);
  const int bytes = isa::TypeBytes(d.inst.type);
  const uint32_t size = components * static_cast<uint32_t>(bytes);
  const bool is_volatile = (d.inst.aux & isa::kMemVolatile) != 0;
  const bool copy = (d.inst.aux & isa::kMemCopy) != 0;
  Target t;
  if (launch_.options->record_reads || !FindPattern(d, s, size, Access::kRead, &t) ||
      (is_volatile && t.kind == Target::Kind::kGlobal) ||
      (launch_.sampler != nullptr && t.kind == Target::Kind::kGlobal &&
       !t.allocation->unknown.empty()))
    return LoadLanes(d, s, size);
  const int lo = s.lo, n = s.hi - s.lo;
  LaunchResult& r = launch_.result;
  if (is_volatile) {
    ++launch_.polls;
    launch_.poll_line = d.inst.line;
  }
  if (t.kind == Target::Kind::kShared) {
    ++r.shared_accesses;
    if (launch_.options->sanitize) NoteShared(t, lo, n, size, Access::kRead, copy, d.inst.line);
  } else if (t.kind == Target::Kind::kGlobal) {
    r.global_load_bytes += static_cast<uint64_t>(n) * size;
    if (launch_.options->sanitize && !Unwatched(t))
      NoteGlobal(t, lo, n, size, Access::kRead, copy, d.inst.line);
  } else if (t.kind == Target::Kind::kLocal && launch_.options->sanitize) {
    NoteLocal(t, lo, n, size, Access::kRead, copy, d.inst.line);
  }
  Frame& f = *s.frame;
  if (d.dst_uniform || pattern_.shape == Pattern::Shape::kSame) {
    const uint64_t from =
        pattern_.shape == Pattern::Shape::kChunks ? pattern_.At(0) : pattern_.first;
    uint64_t value[16];
    for (uint32_t c = 0; c < components; ++c) {
      value[c] = 0;
      std::memcpy(&value[c], reinterpret_cast<const void*>(from + c * static_cast<uint64_t>(bytes)),
                  static_cast<size_t>(bytes));
      if (d.inst.type == isa::Type::kI1) value[c] &= 1;
    }
    for (uint32_t c = 0; c < components; ++c) WriteScalar(f, d.inst.dst + c, s, &value[c], bytes);
    return;
  }
  uint8_t* to[16];
  for (uint32_t c = 0; c < components; ++c)
    to[c] = VectorDst(f, d.inst.dst + c, s, bytes) + lo * bytes;
  Gather(pattern_, n, bytes, static_cast<int>(components), to);
  for (uint32_t c = 0; c < components && d.inst.type == isa::Type::kI1; ++c) {
    for (int i = 0; i < n; ++i) to[c][i] &= 1;
  }
}

// Any mask, any mixture of allocations, and lanes that are refused.
void BlockRun::LoadLanes(const DInst& d, Split& s, uint32_t size) {
  uint32_t components = std::max(d.inst.Components(), 1u);
  auto bytes = static_cast<uint32_t>(isa::TypeBytes(d.inst.type));
  Target target;
  bool clean = PrepareAccess(d, s, size, Access::kRead, &target);
  bool dirty = !clean;
  int n = s.hi - s.lo;
  const uint64_t* address = address_.data();
  if (launch_.sampler != nullptr) {
    for (int i = 0; i < n; ++i) {
      const int lane = s.lo + i;
      if (!s.mask[static_cast<size_t>(lane)] || (dirty && !ok_[static_cast<size_t>(i)])) continue;
      const Target t =
          target.kind == Target::Kind::kNone
              ? Resolve(static_cast<uint32_t>(ReadReg(*s.frame, d.inst.c, lane)), *s.frame)
              : target;
      if (ReadsUnknown(t, address[i], size)) return;
    }
  }
  bool is_volatile = (d.inst.aux & isa::kMemVolatile) != 0,
       copy = (d.inst.aux & isa::kMemCopy) != 0;
  if (target.kind == Target::Kind::kShared) ++launch_.result.shared_accesses;
  if (target.kind == Target::Kind::kGlobal)
    launch_.result.global_load_bytes += static_cast<uint64_t>(s.count) * size;
  if (is_volatile) {
    ++launch_.polls;
    launch_.poll_line = d.inst.line;
  }
  if (launch_.options->sanitize && target.kind == Target::Kind::kShared) {
    const uint8_t* ok = dirty ? ok_.data() : s.dense() ? nullptr : s.mask.data() + s.lo;
    NoteLanes(target, s, ok, size, Access::kRead, copy, d.inst.line);
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
  if (launch_.options->record_reads) {
    for (int i = 0; i < n; ++i) {
      const int lane = s.lo + i;
      if (!s.mask[static_cast<size_t>(lane)] || (dirty && !ok_[static_cast<size_t>(i)])) continue;
      const Target t =
          target.kind == Target::Kind::kNone
              ? Resolve(static_cast<uint32_t>(ReadReg(*s.frame, d.inst.c, lane)), *s.frame)
              : target;
      if (t.kind == Target::Kind::kGlobal)
        launch_.RecordRead(*t.allocation, t.id, address[i], size);
    }
  }
  for (uint32_t c = 0; c < components; ++c) {
    uint64_t extra = static_cast<uint64_t>(c) * bytes;
    uint8_t* to = scratch_.data();
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
    WriteVector(*s.frame, d.inst.dst + c, s, to, static_cast<int>(bytes));
  }
}

void BlockRun::Store(const DInst& d, Split& s) {
  const uint32_t components = std::max(d.inst.Components(), 1u);
  const int bytes = isa::TypeBytes(d.inst.type);
  const uint32_t size = components * static_cast<uint32_t>(bytes);
  const bool is_volatile = (d.inst.aux & isa::kMemVolatile) != 0;
  Target t;
  if (!FindPattern(d, s, size, Access::kWrite, &t) ||
      (is_volatile && t.kind == Target::Kind::kGlobal))
    return StoreLanes(d, s, size);
  const int lo = s.lo, n = s.hi - s.lo;
  LaunchResult& r = launch_.result;
  if (t.kind != Target::Kind::kLocal) {
    launch_.last_effect = r.dispatches;
    launch_.polls = 0;
  }
  if (t.kind == Target::Kind::kShared) {
    ++r.shared_accesses;
    if (launch_.options->sanitize) NoteShared(t, lo, n, size, Access::kWrite, false, d.inst.line);
  } else if (t.kind == Target::Kind::kGlobal) {
    r.global_store_bytes += static_cast<uint64_t>(n) * size;
    if (launch_.options->sanitize) NoteGlobal(t, lo, n, size, Access::kWrite, false, d.inst.line);
    if (launch_.sampler != nullptr) LogPattern(t, n, size);
    if (t.allocation->tracked) {
      if (pattern_.shape != Pattern::Shape::kChunks) {
        size_t count = pattern_.shape == Pattern::Shape::kRun ? static_cast<size_t>(n) : 1;
        t.allocation->SetValid(pattern_.first - t.base, count * size, true);
      } else {
        for (int i = 0; i < n; ++i) t.allocation->SetValid(pattern_.At(i) - t.base, size, true);
      }
    }
  } else if (t.kind == Target::Kind::kLocal && launch_.options->sanitize) {
    NoteLocal(t, lo, n, size, Access::kWrite, false, d.inst.line);
  }
  const Frame& f = *s.frame;
  const uint8_t* from[16];
  int stride[16];
  for (uint32_t c = 0; c < components; ++c) {
    stride[c] = f.scalar[d.inst.d + c] ? 0 : bytes;
    from[c] = f.regs[d.inst.d + c] + lo * stride[c];
  }
  Scatter(pattern_, n, bytes, static_cast<int>(components), from, stride);
}

void BlockRun::StoreLanes(const DInst& d, Split& s, uint32_t size) {
  uint32_t components = std::max(d.inst.Components(), 1u);
  auto bytes = static_cast<uint32_t>(isa::TypeBytes(d.inst.type));
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
  bool tracked = varies || launch_.sampler != nullptr ||
                 (target.allocation != nullptr && target.allocation->tracked);
  if (launch_.options->sanitize && target.kind == Target::Kind::kShared) {
    NoteLanes(target, s, ok, size, Access::kWrite, false, d.inst.line);
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
          launch_.shadow->Release(address[i], sync_, lane,
                                  sync_.fenced[static_cast<size_t>(lane)] == 2);
        }
        Note(t, lane, address[i], size, Access::kWrite,
             is_volatile && t.kind == Target::Kind::kGlobal, false, d.inst.line);
      }
      if (launch_.sampler != nullptr) LogWrite(t, address[i], size);
      if (t.allocation != nullptr && t.allocation->tracked)
        t.allocation->SetValid(address[i] - t.base, size, true);
    }
  }
  for (uint32_t c = 0; c < components; ++c) {
    uint32_t reg = d.inst.d + c;
    bool uniform = s.frame->scalar[reg] != 0;
    const uint8_t* from = s.frame->regs[reg] + (uniform ? 0 : s.lo * static_cast<int>(bytes));
    uint64_t extra = static_cast<uint64_t>(c) * bytes;
    switch (bytes) {
      case 1: ScatterLanes<uint8_t>(from, uniform, address, ok, n, extra); break;
      case 2: ScatterLanes<uint16_t>(from, uniform, address, ok, n, extra); break;
      case 4: ScatterLanes<uint32_t>(from, uniform, address, ok, n, extra); break;
      default: ScatterLanes<uint64_t>(from, uniform, address, ok, n, extra); break;
    }
  }
}

}  // namespace kuafu::simt
