// SPDX-License-Identifier: Apache-2.0
// Floating-point lane loops. f16 and bf16 compute in f32 and round once (fma in f64).
#include <cmath>

#include "simt/exec_loops.h"

namespace kuafu::simt {
namespace {

using isa::Op;
using isa::Type;

template <class T>
inline bool SignBit(T v) {
  return __builtin_signbit(v);
}
template <class W>
inline W MinNum(W a, W b) {
  W less = a < b ? a : b < a ? b : (SignBit(a) ? a : b);
  return a != a ? b : b != b ? a : less;
}
template <class W>
inline W MaxNum(W a, W b) {
  W more = a > b ? a : b > a ? b : (SignBit(a) ? b : a);
  return a != a ? b : b != b ? a : more;
}

#define FN(name, expr)                                              \
  struct name {                                                     \
    template <class W>                                              \
    static inline W f([[maybe_unused]] W a, [[maybe_unused]] W b) { \
      return W(expr);                                               \
    }                                                               \
  };
FN(FAdd_, a + b)
FN(FSub_, a - b)
FN(FMul_, a* b)
FN(FDiv_, a / b)
FN(FRem_, std::fmod(a, b))
FN(FNeg_, -a)
FN(FAbs_, std::fabs(a))
FN(FSqrt_, std::sqrt(a))
FN(FMin_, MinNum(a, b))
FN(FMax_, MaxNum(a, b))
FN(FCopySign_, std::copysign(a, b))
FN(FFloor_, std::floor(a))
FN(FCeil_, std::ceil(a))
FN(FTrunc_, std::trunc(a))
FN(FRint_, std::rint(a))
FN(FRound_, std::round(a))
#undef FN

template <class F, class T>
struct Bin {
  template <bool UA, bool UB>
  static void Run(void* d, const void* a, const void* b, const void*, int n, int64_t) {
    using W = typename Wide<T>::type;
    T* D = static_cast<T*>(d);
    const T* X = static_cast<const T*>(a);
    const T* Y = static_cast<const T*>(b);
    const W x = ToFloat(X[0]), y = ToFloat(Y[0]);
#pragma GCC ivdep
    for (int i = 0; i < n; ++i) {
      D[i] = Narrow<T>(F::template f<W>(UA ? x : W(ToFloat(X[i])), UB ? y : W(ToFloat(Y[i]))));
    }
  }
};
template <class F, class T>
LaneFn PickBinT(unsigned u) {
  return PickTwo<Bin<F, T>>(u);
}
template <class F>
LaneFn PickBin(Type type, unsigned u) {
  switch (type) {
    case Type::kF16: return PickBinT<F, _Float16>(u);
    case Type::kBf16: return PickBinT<F, Bfloat>(u);
    case Type::kF32: return PickBinT<F, float>(u);
    case Type::kF64: return PickBinT<F, double>(u);
    default: return nullptr;
  }
}
template <class F, class T>
void Un(void* d, const void* a, const void*, const void*, int n, int64_t) {
  using W = typename Wide<T>::type;
  T* D = static_cast<T*>(d);
  const T* X = static_cast<const T*>(a);
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) D[i] = Narrow<T>(F::template f<W>(ToFloat(X[i]), W(0)));
}
template <class F>
LaneFn PickUn(Type type) {
  switch (type) {
    case Type::kF16: return Un<F, _Float16>;
    case Type::kBf16: return Un<F, Bfloat>;
    case Type::kF32: return Un<F, float>;
    case Type::kF64: return Un<F, double>;
    default: return nullptr;
  }
}

template <class T>
inline T FmaOne(T a, T b, T c) {
  if constexpr (__is_same(T, float))
    return __builtin_fmaf(a, b, c);
  else if constexpr (__is_same(T, double))
    return __builtin_fma(a, b, c);
  else
    return Narrow<T>(__builtin_fma(double(ToFloat(a)), double(ToFloat(b)), double(ToFloat(c))));
}
template <class T>
struct FmaLoop {
  template <bool UA, bool UB, bool UC>
  static void Run(void* d, const void* a, const void* b, const void* c, int n, int64_t) {
    T* D = static_cast<T*>(d);
    const T* X = static_cast<const T*>(a);
    const T* Y = static_cast<const T*>(b);
    const T* Z = static_cast<const T*>(c);
    const T x = X[0], y = Y[0], z = Z[0];
#pragma GCC ivdep
    for (int i = 0; i < n; ++i) D[i] = FmaOne<T>(UA ? x : X[i], UB ? y : Y[i], UC ? z : Z[i]);
  }
};
template <class T>
LaneFn PickFma(unsigned u) {
  return PickThree<FmaLoop<T>>(u);
}

template <class W>
inline bool Compare(isa::FloatPredicate p, W a, W b) {
  using enum isa::FloatPredicate;
  bool un = a != a || b != b;
  switch (p) {
    case kFalse: return false;
    case kOeq: return a == b;
    case kOgt: return a > b;
    case kOge: return a >= b;
    case kOlt: return a < b;
    case kOle: return a <= b;
    case kOne: return !un && a != b;
    case kOrd: return !un;
    case kUno: return un;
    case kUeq: return un || a == b;
    case kUgt: return !(a <= b);
    case kUge: return !(a < b);
    case kUlt: return !(a >= b);
    case kUle: return !(a > b);
    case kUne: return a != b;
    case kTrue: return true;
  }
  return false;
}
template <class T, isa::FloatPredicate P>
struct CmpLoop {
  template <bool UA, bool UB>
  static void Run(void* d, const void* a, const void* b, const void*, int n, int64_t) {
    using W = typename Wide<T>::type;
    uint8_t* D = static_cast<uint8_t*>(d);
    const T* X = static_cast<const T*>(a);
    const T* Y = static_cast<const T*>(b);
    const W x = ToFloat(X[0]), y = ToFloat(Y[0]);
#pragma GCC ivdep
    for (int i = 0; i < n; ++i)
      D[i] = Compare<W>(P, UA ? x : W(ToFloat(X[i])), UB ? y : W(ToFloat(Y[i])));
  }
};
template <class T, isa::FloatPredicate P>
LaneFn PickCmpP(unsigned u) {
  return PickTwo<CmpLoop<T, P>>(u);
}
template <class T>
LaneFn PickCmp(int64_t predicate, unsigned u) {
  using enum isa::FloatPredicate;
  switch (static_cast<isa::FloatPredicate>(predicate)) {
#define P(name) \
  case name: return PickCmpP<T, name>(u);
    P(kFalse)
    P(kOeq)
    P(kOgt) P(kOge) P(kOlt) P(kOle) P(kOne) P(kOrd) P(kUno) P(kUeq) P(kUgt) P(kUge) P(kUlt) P(kUle)
        P(kUne) P(kTrue)
#undef P
  }
  return nullptr;
}

// Sign operations work on the bits, so that NaN payloads and signs are as on hardware.
template <class U, bool Neg>
void SignOp(void* d, const void* a, const void*, const void*, int n, int64_t) {
  U* D = static_cast<U*>(d);
  const U* X = static_cast<const U*>(a);
  constexpr U kSign = U(U(1) << (sizeof(U) * 8 - 1));
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) D[i] = Neg ? U(X[i] ^ kSign) : U(X[i] & U(~kSign));
}
template <bool Neg>
LaneFn PickSign(Type type) {
  switch (isa::TypeBytes(type)) {
    case 2: return SignOp<uint16_t, Neg>;
    case 4: return SignOp<uint32_t, Neg>;
    default: return SignOp<uint64_t, Neg>;
  }
}

}  // namespace

LaneFn SelectFloat(const isa::Inst& inst, unsigned u) {
  Type type = inst.type;
  switch (inst.op) {
    case Op::kFAdd: return PickBin<FAdd_>(type, u);
    case Op::kFSub: return PickBin<FSub_>(type, u);
    case Op::kFMul: return PickBin<FMul_>(type, u);
    case Op::kFDiv: return PickBin<FDiv_>(type, u);
    case Op::kFRem: return PickBin<FRem_>(type, u);
    case Op::kFMin: return PickBin<FMin_>(type, u);
    case Op::kFMax: return PickBin<FMax_>(type, u);
    case Op::kFCopySign: return PickBin<FCopySign_>(type, u);
    case Op::kFNeg: return PickSign<true>(type);
    case Op::kFAbs: return PickSign<false>(type);
    case Op::kFSqrt: return PickUn<FSqrt_>(type);
    case Op::kFFloor: return PickUn<FFloor_>(type);
    case Op::kFCeil: return PickUn<FCeil_>(type);
    case Op::kFTrunc: return PickUn<FTrunc_>(type);
    case Op::kFRint: return PickUn<FRint_>(type);
    case Op::kFRound: return PickUn<FRound_>(type);
    case Op::kFma:
      switch (type) {
        case Type::kF16: return PickFma<_Float16>(u);
        case Type::kBf16: return PickFma<Bfloat>(u);
        case Type::kF32: return PickFma<float>(u);
        case Type::kF64: return PickFma<double>(u);
        default: return nullptr;
      }
    case Op::kFCmp:
      switch (static_cast<Type>(inst.aux)) {
        case Type::kF16: return PickCmp<_Float16>(inst.imm, u);
        case Type::kBf16: return PickCmp<Bfloat>(inst.imm, u);
        case Type::kF32: return PickCmp<float>(inst.imm, u);
        case Type::kF64: return PickCmp<double>(inst.imm, u);
        default: return nullptr;
      }
    default: return nullptr;
  }
}

}  // namespace kuafu::simt
