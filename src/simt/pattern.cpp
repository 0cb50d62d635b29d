// SPDX-License-Identifier: Apache-2.0
// Address patterns, see pattern.h.
#include "simt/pattern.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

namespace kuafu::simt {
namespace {

constexpr int kAll = 0xff;

__m256i Load8(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
int Equal8(__m256i a, __m256i b) {
  return _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b)));
}
int Equal4(__m256i a, __m256i b) {
  return _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(a, b)));
}

// Floor and ceiling of v / scale for a positive scale.
int64_t Floor(int64_t v, int64_t scale) {
  if ((scale & (scale - 1)) == 0) return v >> __builtin_ctzll(static_cast<uint64_t>(scale));
  return v / scale - (v % scale < 0);
}

// Memory that need not be aligned for T and may hold anything.
template <class T>
struct [[gnu::packed, gnu::may_alias]] Loose {
  T v;
};

// Addresses with everything in locals, which stores through T cannot touch.
struct ByIndex {
  const int32_t* index;
  uint64_t base, scale;
  uint64_t operator()(int i) const {
    return base + static_cast<uint64_t>(int64_t{index[i]}) * scale;
  }
};
struct ByAddress {
  const uint64_t* address;
  uint64_t operator()(int i) const { return address[i]; }
};

template <class T, class Where>
void GatherAs(const Pattern& p, Where where, int n, int components, uint8_t* const* dst) {
  auto out = [&](int c, int i) { return reinterpret_cast<T*>(dst[c]) + i; };
  auto in = [](uint64_t address) { return reinterpret_cast<const Loose<T>*>(address); };
  if (p.shape == Pattern::Shape::kRun) {
    if (components == 1) {
      std::memcpy(dst[0], in(p.first), static_cast<size_t>(n) * sizeof(T));
      return;
    }
    for (int c = 0; c < components; ++c) {
      const Loose<T>* from = in(p.first) + c;
      T* to = out(c, 0);
#pragma GCC ivdep
      for (int i = 0; i < n; ++i) to[i] = from[i * components].v;
    }
    return;
  }
  if (components == 1 && sizeof(T) == 4) {
    // The commonest by far.
    auto* to = reinterpret_cast<uint32_t*>(dst[0]);
    const uint8_t* chunk = p.chunk;
    for (int i = 0; i < n; i += kChunk, to += kChunk) {
      const uint8_t kind = *chunk++;
      auto* first = reinterpret_cast<const Loose<uint32_t>*>(where(i));
      if (kind != Pattern::kGather) {
        __m256i v = kind == Pattern::kRun8 ? Load8(first)
                                           : _mm256_set1_epi32(static_cast<int32_t>(first->v));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v);
        continue;
      }
      const int count = std::min(kChunk, n - i);
      uint32_t v[kChunk];
      for (int k = 0; k < count; ++k)
        v[k] = reinterpret_cast<const Loose<uint32_t>*>(where(i + k))->v;
      std::memcpy(to, v, static_cast<size_t>(count) * 4);
    }
    return;
  }
  for (int i = 0; i < n; i += kChunk) {
    uint8_t kind = p.chunk[i / kChunk];
    const Loose<T>* first = in(where(i));
    if (kind == Pattern::kRun8) {
      if (components == 1) {
        std::memcpy(out(0, i), first, kChunk * sizeof(T));
        continue;
      }
      for (int c = 0; c < components; ++c) {
        for (int k = 0; k < kChunk; ++k) out(c, i)[k] = first[k * components + c].v;
      }
    } else if (kind == Pattern::kSame8) {
      for (int c = 0; c < components; ++c) {
        T v = first[c].v;
        for (int k = 0; k < kChunk; ++k) out(c, i)[k] = v;
      }
    } else {
      int count = std::min(kChunk, n - i);
      const Loose<T>* at[kChunk];
      for (int k = 0; k < count; ++k) at[k] = in(where(i + k));
      for (int c = 0; c < components; ++c) {
        for (int k = 0; k < count; ++k) out(c, i)[k] = at[k][c].v;
      }
    }
  }
}

template <class T>
void GatherBy(const Pattern& p, int n, int components, uint8_t* const* dst) {
  if (p.index != nullptr)
    GatherAs<T>(p, ByIndex{p.index, p.base, p.scale}, n, components, dst);
  else
    GatherAs<T>(p, ByAddress{p.address}, n, components, dst);
}

template <class T>
void ScatterAs(const Pattern& p, int n, int components, const uint8_t* const* src,
               const int* stride) {
  auto to = [](uint64_t address) { return reinterpret_cast<Loose<T>*>(address); };
  if (p.shape == Pattern::Shape::kRun) {
    for (int c = 0; c < components; ++c) {
      Loose<T>* out = to(p.first) + c;
      const T* from = reinterpret_cast<const T*>(src[c]);
      if (stride[c] == 0) {
        T v = from[0];
        for (int i = 0; i < n; ++i) out[i * components].v = v;
      } else if (components == 1) {
        std::memcpy(out, from, static_cast<size_t>(n) * sizeof(T));
      } else {
        for (int i = 0; i < n; ++i) out[i * components].v = from[i];
      }
    }
    return;
  }
  if (p.shape == Pattern::Shape::kSame) {
    for (int c = 0; c < components; ++c)
      to(p.first)[c].v = reinterpret_cast<const T*>(src[c])[stride[c] == 0 ? 0 : n - 1];
    return;
  }
  for (int i = 0; i < n; i += kChunk) {
    if (components == 1 && stride[0] != 0 && p.chunk[i / kChunk] == Pattern::kRun8) {
      std::memcpy(to(p.At(i)), src[0] + static_cast<size_t>(i) * sizeof(T), kChunk * sizeof(T));
      continue;
    }
    int count = std::min(kChunk, n - i);
    for (int k = 0; k < count; ++k) {
      Loose<T>* at = to(p.At(i + k));
      for (int c = 0; c < components; ++c)
        at[c].v = reinterpret_cast<const T*>(src[c])[stride[c] == 0 ? 0 : i + k];
    }
  }
}

}  // namespace

bool ClassifyIndex(Pattern& p, const int32_t* v, int n, uint64_t base, uint64_t scale, uint64_t low,
                   uint64_t high, uint32_t bytes) {
  // Index range: base + i * scale within [low, high].
  auto unit = static_cast<int64_t>(scale);
  int64_t least = -Floor(static_cast<int64_t>(base - low), unit);
  int64_t most = Floor(static_cast<int64_t>(high - base), unit);
  least = std::max<int64_t>(least, INT32_MIN);
  most = std::min<int64_t>(most, INT32_MAX);
  if (least > most) return false;
  p.index = v;
  p.base = base;
  p.scale = scale;
  p.first = base + static_cast<uint64_t>(int64_t{v[0]}) * scale;
  auto inside = [&](int32_t i) { return i >= least && i <= most; };
  const int32_t first = v[0];
  auto last = static_cast<int32_t>(static_cast<uint32_t>(v[n - 1]) - static_cast<uint32_t>(first));
  const __m256i iota = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  if ((last == n - 1 && scale == bytes) || last == 0) {
    const __m256i step = _mm256_set1_epi32(last == 0 ? 0 : 8);
    __m256i want =
        _mm256_add_epi32(_mm256_set1_epi32(first), last == 0 ? _mm256_setzero_si256() : iota);
    __m256i differ = _mm256_setzero_si256();
    int i = 0;
    for (; i + 8 <= n; i += 8) {
      differ = _mm256_or_si256(differ, _mm256_xor_si256(Load8(v + i), want));
      want = _mm256_add_epi32(want, step);
    }
    bool same = _mm256_testz_si256(differ, differ) != 0;
    for (; i < n; ++i) same = same && v[i] - first == (last == 0 ? 0 : i);
    if (same && first <= v[n - 1] && inside(first) && inside(v[n - 1])) {
      p.shape = last == 0 && n > 1 ? Pattern::Shape::kSame : Pattern::Shape::kRun;
      return true;
    }
  }
  p.shape = Pattern::Shape::kChunks;
  const __m256i lo = _mm256_set1_epi32(static_cast<int32_t>(least));
  __m256i reach = _mm256_setzero_si256();
  const bool runs = scale == bytes;
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256i x = Load8(v + i), head = _mm256_set1_epi32(v[i]);
    reach = _mm256_max_epu32(reach, _mm256_sub_epi32(x, lo));
    int run = Equal8(x, _mm256_add_epi32(head, iota)), same = Equal8(x, head);
    p.chunk[i / 8] = static_cast<uint8_t>((runs && run == kAll ? Pattern::kRun8 : 0) |
                                          (same == kAll ? Pattern::kSame8 : 0));
  }
  p.chunk[i / 8] = Pattern::kGather;
  __m256i span = _mm256_set1_epi32(static_cast<int32_t>(static_cast<uint32_t>(most - least)));
  bool fine = Equal8(_mm256_max_epu32(reach, span), span) == kAll;
  for (; i < n; ++i) fine = fine && inside(v[i]);
  return fine;
}

bool ClassifyAddress(Pattern& p, const uint64_t* v, int n, uint64_t low, uint64_t high,
                     uint64_t align, uint32_t bytes) {
  p.index = nullptr;
  p.address = v;
  p.first = v[0];
  const uint64_t span = high - low;
  uint64_t bad = 0, same = 0, run = 0, bits = 0;
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) {
    bad |= static_cast<uint64_t>(v[i] - low > span);
    bits |= v[i];
    same |= v[i] ^ v[0];
    run |= v[i] - (v[0] + static_cast<uint64_t>(i) * bytes);
  }
  if (bad != 0 || (bits & (align - 1)) != 0) return false;
  if (run == 0 || same == 0) {
    p.shape = run == 0 ? Pattern::Shape::kRun : Pattern::Shape::kSame;
    return true;
  }
  p.shape = Pattern::Shape::kChunks;
  const __m256i lower = _mm256_setr_epi64x(0, bytes, 2 * int64_t{bytes}, 3 * int64_t{bytes});
  const __m256i upper = _mm256_add_epi64(lower, _mm256_set1_epi64x(4 * int64_t{bytes}));
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256i a = Load8(v + i), b = Load8(v + i + 4);
    __m256i head = _mm256_set1_epi64x(static_cast<int64_t>(v[i]));
    int runs = Equal4(a, _mm256_add_epi64(head, lower)) & Equal4(b, _mm256_add_epi64(head, upper));
    int sames = Equal4(a, head) & Equal4(b, head);
    p.chunk[i / 8] = static_cast<uint8_t>((runs == 15 ? Pattern::kRun8 : 0) |
                                          (sames == 15 ? Pattern::kSame8 : 0));
  }
  p.chunk[i / 8] = Pattern::kGather;
  return true;
}

void Gather(const Pattern& p, int n, int size, int components, uint8_t* const* dst) {
  switch (size) {
    case 1: return GatherBy<uint8_t>(p, n, components, dst);
    case 2: return GatherBy<uint16_t>(p, n, components, dst);
    case 4: return GatherBy<uint32_t>(p, n, components, dst);
    default: return GatherBy<uint64_t>(p, n, components, dst);
  }
}

void Scatter(const Pattern& p, int n, int size, int components, const uint8_t* const* src,
             const int* stride) {
  switch (size) {
    case 1: return ScatterAs<uint8_t>(p, n, components, src, stride);
    case 2: return ScatterAs<uint16_t>(p, n, components, src, stride);
    case 4: return ScatterAs<uint32_t>(p, n, components, src, stride);
    default: return ScatterAs<uint64_t>(p, n, components, src, stride);
  }
}

}  // namespace kuafu::simt
