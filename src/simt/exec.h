// SPDX-License-Identifier: Apache-2.0
// Lane loops: one function per operation, type and pattern of uniform operands. Each is a dense
// loop over n lanes that the compiler vectorises; masks are applied by the caller with a blend,
// which is right because none of these operations can trap.
#pragma once

#include <cstdint>

#include "isa/isa.h"

namespace kuafu::simt {

// d[i] = op(a[i], b[i], c[i]); an operand selected as uniform is read at [0] only.
using LaneFn = void (*)(void* d, const void* a, const void* b, const void* c, int n, int64_t imm);

// Patterns: bit 0 = a is uniform, bit 1 = b, bit 2 = c. nullptr if the operation is not of this
// family.
LaneFn SelectInt(const isa::Inst& inst, unsigned uniform);
LaneFn SelectFloat(const isa::Inst& inst, unsigned uniform);
LaneFn SelectConvert(const isa::Inst& inst, unsigned uniform);
LaneFn SelectMath(const isa::Inst& inst, unsigned uniform);

// True if a signed wrap happened in an active lane; mask may be nullptr (all). *lane = the first.
using OverflowFn = bool (*)(const void* a, const void* b, const void* c, unsigned uniform,
                            const uint8_t* mask, int n, int* lane);
OverflowFn SelectOverflow(const isa::Inst& inst);

void Blend(void* d, const void* s, const uint8_t* mask, int n, int size);
void Fill(void* d, const void* value, int n, int size);

struct Half;
struct Bfloat {
  uint16_t bits;
};
inline float ToFloat(Bfloat v) {
  uint32_t u = uint32_t(v.bits) << 16;
  float f;
  __builtin_memcpy(&f, &u, 4);
  return f;
}
inline Bfloat ToBfloat(float f) {
  uint32_t u;
  __builtin_memcpy(&u, &f, 4);
  uint32_t rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
  uint32_t nan = (u >> 16) | 0x40;
  return Bfloat{static_cast<uint16_t>((u & 0x7fffffff) > 0x7f800000 ? nan : rounded)};
}
// Rounds to odd on the way, so that the second rounding is the only one that counts.
inline Bfloat ToBfloat(double x) {
  float f = static_cast<float>(x);
  uint32_t u;
  __builtin_memcpy(&u, &f, 4);
  double back = f;
  if (back != x && x == x && (u & 1) == 0 && (u & 0x7f800000) != 0x7f800000) {
    bool away = (back < 0 ? -back : back) > (x < 0 ? -x : x);
    u = away ? u - 1 : u + 1;
    __builtin_memcpy(&f, &u, 4);
  }
  return ToBfloat(f);
}
inline float ToFloat(_Float16 v) { return static_cast<float>(v); }
inline float ToFloat(float v) { return v; }
inline double ToFloat(double v) { return v; }

// Arithmetic type of a register type, and the way back.
template <class T>
struct Wide {
  using type = T;
};
template <>
struct Wide<_Float16> {
  using type = float;
};
template <>
struct Wide<Bfloat> {
  using type = float;
};
template <class T, class V>
inline T Narrow(V v) {
  if constexpr (__is_same(T, Bfloat))
    return ToBfloat(v);
  else
    return static_cast<T>(v);
}

}  // namespace kuafu::simt
