// SPDX-License-Identifier: Apache-2.0
// Conversion lane loops: every pair of types an operation allows.
#include <cmath>
#include <limits>
#include <type_traits>

#include "simt/exec.h"

namespace kuafu::simt {
namespace {

using isa::Op;
using isa::Type;

// Saturating; NaN gives 0. `mode` is as in FpToSiRn: 0 nearest even, 1 truncate, 2 down, 3 up.
template <class D, class W>
inline D ToInt(W x, int mode) {
  if (x != x) return 0;
  W r = mode == 0   ? std::rint(x)
        : mode == 2 ? std::floor(x)
        : mode == 3 ? std::ceil(x)
                    : std::trunc(x);
  constexpr W kLow = W(std::numeric_limits<D>::min());
  // One past the largest value is a power of two and exact in W; f16 never gets there for wide D.
  constexpr W kHigh = W(D(1) << (sizeof(D) * 8 - 2)) * (std::is_signed_v<D> ? W(2) : W(4));
  if (r >= kHigh) return std::numeric_limits<D>::max();
  if (r <= kLow) return std::numeric_limits<D>::min();
  return static_cast<D>(r);
}

template <Op O, class D, class X>
void Loop(void* d, const void* a, const void*, const void*, int n, int64_t imm) {
  D* out = static_cast<D*>(d);
  const X* in = static_cast<const X*>(a);
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) {
    if constexpr (O == Op::kFpToSi || O == Op::kFpToUi) {
      out[i] = ToInt<D>(ToFloat(in[i]), 1);
    } else if constexpr (O == Op::kFpToSiRn || O == Op::kFpToUiRn) {
      out[i] = ToInt<D>(ToFloat(in[i]), static_cast<int>(imm));
    } else if constexpr (O == Op::kFpTrunc || O == Op::kFpExt) {
      out[i] = Narrow<D>(ToFloat(in[i]));
    } else if constexpr (O == Op::kSiToFp || O == Op::kUiToFp) {
      if constexpr (std::is_same_v<D, float> || std::is_same_v<D, double>) {
        out[i] = static_cast<D>(in[i]);
      } else if constexpr (sizeof(X) == 8) {
        // To f16 overflows to infinity beyond 65504, so clamping first keeps the f64 step exact
        // there; for bf16 the residual of the f64 rounding is folded in as a sticky bit.
        double x = static_cast<double>(in[i]);
        __int128 residual = static_cast<__int128>(in[i]) - static_cast<__int128>(x);
        if (residual != 0) x = std::nextafter(x, residual > 0 ? HUGE_VAL : -HUGE_VAL);
        out[i] = Narrow<D>(residual != 0 ? x : static_cast<double>(in[i]));
      } else {
        out[i] = Narrow<D>(static_cast<double>(in[i]));
      }
    } else {
      out[i] = static_cast<D>(in[i]);
    }
  }
}

void TruncToBit(void* d, const void* a, const void*, const void*, int n, int64_t size) {
  auto* out = static_cast<uint8_t*>(d);
  const auto* in = static_cast<const uint8_t*>(a);
  for (int i = 0; i < n; ++i) out[i] = in[i * size] & 1;
}
template <int N>
void TruncToBitN(void* d, const void* a, const void* b, const void* c, int n, int64_t) {
  TruncToBit(d, a, b, c, n, N);
}
template <class D>
void SExtBit(void* d, const void* a, const void*, const void*, int n, int64_t) {
  D* out = static_cast<D*>(d);
  const auto* in = static_cast<const uint8_t*>(a);
  for (int i = 0; i < n; ++i) out[i] = D(0 - D(in[i] & 1));
}

template <Op O, class X>
LaneFn ToIntType(Type dst) {
  constexpr bool kSigned = O == Op::kSExt || O == Op::kFpToSi || O == Op::kFpToSiRn;
  switch (dst) {
    case Type::kI8: return Loop<O, std::conditional_t<kSigned, int8_t, uint8_t>, X>;
    case Type::kI16: return Loop<O, std::conditional_t<kSigned, int16_t, uint16_t>, X>;
    case Type::kI32: return Loop<O, std::conditional_t<kSigned, int32_t, uint32_t>, X>;
    case Type::kI64: return Loop<O, std::conditional_t<kSigned, int64_t, uint64_t>, X>;
    default: return nullptr;
  }
}
template <Op O, class X>
LaneFn ToFloatType(Type dst) {
  switch (dst) {
    case Type::kF16: return Loop<O, _Float16, X>;
    case Type::kBf16: return Loop<O, Bfloat, X>;
    case Type::kF32: return Loop<O, float, X>;
    case Type::kF64: return Loop<O, double, X>;
    default: return nullptr;
  }
}
template <Op O>
LaneFn IntToInt(Type src, Type dst) {
  constexpr bool kSigned = O == Op::kSExt;
  switch (src) {
    case Type::kI1:
    case Type::kI8: return ToIntType<O, std::conditional_t<kSigned, int8_t, uint8_t>>(dst);
    case Type::kI16: return ToIntType<O, std::conditional_t<kSigned, int16_t, uint16_t>>(dst);
    case Type::kI32: return ToIntType<O, std::conditional_t<kSigned, int32_t, uint32_t>>(dst);
    case Type::kI64: return ToIntType<O, std::conditional_t<kSigned, int64_t, uint64_t>>(dst);
    default: return nullptr;
  }
}
template <Op O>
LaneFn FloatToInt(Type src, Type dst) {
  switch (src) {
    case Type::kF16: return ToIntType<O, _Float16>(dst);
    case Type::kBf16: return ToIntType<O, Bfloat>(dst);
    case Type::kF32: return ToIntType<O, float>(dst);
    case Type::kF64: return ToIntType<O, double>(dst);
    default: return nullptr;
  }
}
template <Op O>
LaneFn IntToFloat(Type src, Type dst) {
  constexpr bool kSigned = O == Op::kSiToFp;
  switch (src) {
    case Type::kI1: return ToFloatType<O, uint8_t>(dst);
    case Type::kI8: return ToFloatType<O, std::conditional_t<kSigned, int8_t, uint8_t>>(dst);
    case Type::kI16: return ToFloatType<O, std::conditional_t<kSigned, int16_t, uint16_t>>(dst);
    case Type::kI32: return ToFloatType<O, std::conditional_t<kSigned, int32_t, uint32_t>>(dst);
    case Type::kI64: return ToFloatType<O, std::conditional_t<kSigned, int64_t, uint64_t>>(dst);
    default: return nullptr;
  }
}
LaneFn FloatToFloat(Type src, Type dst) {
  switch (src) {
    case Type::kF16: return ToFloatType<Op::kFpExt, _Float16>(dst);
    case Type::kBf16: return ToFloatType<Op::kFpExt, Bfloat>(dst);
    case Type::kF32: return ToFloatType<Op::kFpExt, float>(dst);
    case Type::kF64: return ToFloatType<Op::kFpExt, double>(dst);
    default: return nullptr;
  }
}

}  // namespace

LaneFn SelectConvert(const isa::Inst& inst, unsigned) {
  Type src = static_cast<Type>(inst.aux), dst = inst.type;
  switch (inst.op) {
    case Op::kTrunc:
      if (dst == Type::kI1) {
        switch (isa::TypeBytes(src)) {
          case 1: return TruncToBitN<1>;
          case 2: return TruncToBitN<2>;
          case 4: return TruncToBitN<4>;
          default: return TruncToBitN<8>;
        }
      }
      return IntToInt<Op::kTrunc>(src, dst);
    case Op::kZExt: return IntToInt<Op::kZExt>(src, dst);
    case Op::kSExt:
      if (src == Type::kI1) {
        switch (isa::TypeBytes(dst)) {
          case 1: return SExtBit<uint8_t>;
          case 2: return SExtBit<uint16_t>;
          case 4: return SExtBit<uint32_t>;
          default: return SExtBit<uint64_t>;
        }
      }
      return IntToInt<Op::kSExt>(src, dst);
    case Op::kFpTrunc:
    case Op::kFpExt: return FloatToFloat(src, dst);
    case Op::kFpToSi: return FloatToInt<Op::kFpToSi>(src, dst);
    case Op::kFpToUi: return FloatToInt<Op::kFpToUi>(src, dst);
    case Op::kFpToSiRn: return FloatToInt<Op::kFpToSiRn>(src, dst);
    case Op::kFpToUiRn: return FloatToInt<Op::kFpToUiRn>(src, dst);
    case Op::kSiToFp: return IntToFloat<Op::kSiToFp>(src, dst);
    case Op::kUiToFp: return IntToFloat<Op::kUiToFp>(src, dst);
    default: return nullptr;
  }
}

}  // namespace kuafu::simt
