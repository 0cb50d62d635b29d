// SPDX-License-Identifier: Apache-2.0
// Integer lane loops, selects and moves, the overflow checks, and the blends.
#include <cstring>
#include <type_traits>

#include "simt/exec_loops.h"

namespace kuafu::simt {
namespace {

using isa::Op;
using isa::Type;

template <class T>
using S = std::make_signed_t<T>;
template <class T>
constexpr int kBits = int(sizeof(T) * 8);
// Arithmetic wide enough that small types do not overflow int.
template <class T>
using A = std::conditional_t<(sizeof(T) < 4), uint32_t, T>;
template <class T>
constexpr S<T> kMin = S<T>(T(1) << (kBits<T> - 1));
template <class T>
constexpr S<T> kMax = S<T>(~(T(1) << (kBits<T> - 1)));

#define FN(name, expr)                                              \
  struct name {                                                     \
    template <class T>                                              \
    static inline T f([[maybe_unused]] T a, [[maybe_unused]] T b) { \
      return T(expr);                                               \
    }                                                               \
  };
FN(FAddI, A<T>(a) + A<T>(b))
FN(FSubI, A<T>(a) - A<T>(b))
FN(FMulI, A<T>(a) * A<T>(b))
FN(FUDiv, b == 0 ? T(~T(0)) : T(a / (b == 0 ? T(1) : b)))
FN(FURem, b == 0 ? a : T(a % (b == 0 ? T(1) : b)))
FN(FSDiv, b == 0 ? T(~T(0)) : b == T(~T(0)) ? T(0 - A<T>(a)) : T(S<T>(a) / S<T>(b == 0 ? T(1) : b)))
FN(FSRem, b == 0 ? a : b == T(~T(0)) ? T(0) : T(S<T>(a) % S<T>(b == 0 ? T(1) : b)))
FN(FAnd, a& b)
FN(FOr, a | b)
FN(FXor, a ^ b)
FN(FShl, b >= T(kBits<T>) ? T(0) : T(A<T>(a) << (b & T(kBits<T> - 1))))
FN(FLShr, b >= T(kBits<T>) ? T(0) : T(a >> (b & T(kBits<T> - 1))))
FN(FAShr, S<T>(a) >> (b >= T(kBits<T>) ? T(kBits<T> - 1) : b))
FN(FSMin, S<T>(a) < S<T>(b) ? a : b)
FN(FSMax, S<T>(a) > S<T>(b) ? a : b)
FN(FUMin, a < b ? a : b)
FN(FUMax, a > b ? a : b)
FN(FAbs, S<T>(a) < 0 ? T(0 - A<T>(a)) : a)
FN(FUAddSat, T(A<T>(a) + A<T>(b)) < a ? T(~T(0)) : T(A<T>(a) + A<T>(b)))
FN(FUSubSat, a < b ? T(0) : T(a - b))
FN(FPopc, __builtin_popcountll(uint64_t(a)))
FN(FClz, a == 0 ? kBits<T> : __builtin_clzll(uint64_t(a)) - (64 - kBits<T>))
FN(FCtz, a == 0 ? kBits<T> : __builtin_ctzll(uint64_t(a)))
#undef FN
struct FUMulHi {
  template <class T>
  static inline T f(T a, T b) {
    using W = std::conditional_t<sizeof(T) == 8, unsigned __int128, uint64_t>;
    return T((W(a) * W(b)) >> kBits<T>);
  }
};
struct FSMulHi {
  template <class T>
  static inline T f(T a, T b) {
    using W = std::conditional_t<sizeof(T) == 8, __int128, int64_t>;
    return T((W(S<T>(a)) * W(S<T>(b))) >> kBits<T>);
  }
};
struct FSAddSat {
  template <class T>
  static inline T f(T a, T b) {
    S<T> r;
    return __builtin_add_overflow(S<T>(a), S<T>(b), &r) ? T(S<T>(a) < 0 ? kMin<T> : kMax<T>) : T(r);
  }
};
struct FSSubSat {
  template <class T>
  static inline T f(T a, T b) {
    S<T> r;
    return __builtin_sub_overflow(S<T>(a), S<T>(b), &r) ? T(S<T>(a) < 0 ? kMin<T> : kMax<T>) : T(r);
  }
};
struct FBrev {
  template <class T>
  static inline T f(T a, T) {
    uint64_t v = a, r = 0;
    for (int i = 0; i < kBits<T>; ++i) r |= ((v >> i) & 1) << (kBits<T> - 1 - i);
    return T(r);
  }
};
struct FBswap {
  template <class T>
  static inline T f(T a, T) {
    return T(__builtin_bswap64(uint64_t(a)) >> (64 - kBits<T>));
  }
};
struct FMov {
  template <class T>
  static inline T f(T a, T) {
    return a;
  }
};

struct FFshl {
  template <class T>
  static inline T f(T a, T b, T c) {
    int s = int(c % T(kBits<T>));
    return s == 0 ? a : T(A<T>(a) << s | A<T>(b) >> (kBits<T> - s));
  }
};
struct FFshr {
  template <class T>
  static inline T f(T a, T b, T c) {
    int s = int(c % T(kBits<T>));
    return s == 0 ? b : T(A<T>(a) << (kBits<T> - s) | A<T>(b) >> s);
  }
};
struct FMad {
  template <class T>
  static inline T f(T a, T b, T c) {
    return T(A<T>(a) * A<T>(b) + A<T>(c));
  }
};
struct FPrmt {
  template <class T>
  static inline T f(T a, T b, T c) {
    uint64_t both = uint64_t(uint32_t(b)) << 32 | uint32_t(a);
    uint32_t r = 0;
    for (int i = 0; i < 4; ++i) {
      uint32_t sel = uint32_t(c) >> (4 * i) & 15, byte = uint32_t(both >> ((sel & 7) * 8)) & 0xff;
      if (sel & 8) byte = byte & 0x80 ? 0xff : 0;
      r |= byte << (8 * i);
    }
    return T(r);
  }
};

template <class F, class T>
struct Bin {
  template <bool UA, bool UB>
  static void Run(void* d, const void* a, const void* b, const void*, int n, int64_t) {
    T* D = static_cast<T*>(d);
    const T* X = static_cast<const T*>(a);
    const T* Y = static_cast<const T*>(b);
    const T x = X[0], y = Y[0];
#pragma GCC ivdep
    for (int i = 0; i < n; ++i) D[i] = F::template f<T>(UA ? x : X[i], UB ? y : Y[i]);
  }
};
template <class F, class T>
LaneFn PickBin(unsigned u) {
  return PickTwo<Bin<F, T>>(u);
}
template <class F>
LaneFn PickInt(Type type, unsigned u) {
  switch (type) {
    case Type::kI1:
    case Type::kI8: return PickBin<F, uint8_t>(u);
    case Type::kI16: return PickBin<F, uint16_t>(u);
    case Type::kI32: return PickBin<F, uint32_t>(u);
    case Type::kI64: return PickBin<F, uint64_t>(u);
    default: return nullptr;
  }
}
template <class F, class T>
void Un(void* d, const void* a, const void*, const void*, int n, int64_t) {
  T* D = static_cast<T*>(d);
  const T* X = static_cast<const T*>(a);
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) D[i] = F::template f<T>(X[i], T(0));
}
template <class F>
LaneFn PickUn(int bytes) {
  switch (bytes) {
    case 1: return Un<F, uint8_t>;
    case 2: return Un<F, uint16_t>;
    case 4: return Un<F, uint32_t>;
    default: return Un<F, uint64_t>;
  }
}
template <class F, class T>
struct Tri {
  template <bool UA, bool UB, bool UC>
  static void Run(void* d, const void* a, const void* b, const void* c, int n, int64_t) {
    T* D = static_cast<T*>(d);
    const T* X = static_cast<const T*>(a);
    const T* Y = static_cast<const T*>(b);
    const T* Z = static_cast<const T*>(c);
    const T x = X[0], y = Y[0], z = Z[0];
#pragma GCC ivdep
    for (int i = 0; i < n; ++i)
      D[i] = F::template f<T>(UA ? x : X[i], UB ? y : Y[i], UC ? z : Z[i]);
  }
};
template <class F, class T>
LaneFn PickTriT(unsigned u) {
  return PickThree<Tri<F, T>>(u);
}
template <class F>
LaneFn PickTri(Type type, unsigned u) {
  switch (type) {
    case Type::kI8: return PickTriT<F, uint8_t>(u);
    case Type::kI16: return PickTriT<F, uint16_t>(u);
    case Type::kI32: return PickTriT<F, uint32_t>(u);
    case Type::kI64: return PickTriT<F, uint64_t>(u);
    default: return nullptr;
  }
}

template <class T>
struct Sel {
  template <bool UA, bool UB, bool UC>
  static void Run(void* d, const void* a, const void* b, const void* c, int n, int64_t) {
    T* D = static_cast<T*>(d);
    const uint8_t* X = static_cast<const uint8_t*>(a);
    const T* Y = static_cast<const T*>(b);
    const T* Z = static_cast<const T*>(c);
    const uint8_t x = X[0];
    const T y = Y[0], z = Z[0];
#pragma GCC ivdep
    for (int i = 0; i < n; ++i) {
      T p = UB ? y : Y[i], q = UC ? z : Z[i];
      D[i] = (UA ? x : X[i]) ? p : q;
    }
  }
};
template <class T>
LaneFn PickSel(unsigned u) {
  return PickThree<Sel<T>>(u);
}

template <class T, isa::IntPredicate P>
struct Cmp {
  static inline bool f(T a, T b) {
    using enum isa::IntPredicate;
    S<T> x = S<T>(a), y = S<T>(b);
    switch (P) {
      case kEq: return a == b;
      case kNe: return a != b;
      case kUgt: return a > b;
      case kUge: return a >= b;
      case kUlt: return a < b;
      case kUle: return a <= b;
      case kSgt: return x > y;
      case kSge: return x >= y;
      case kSlt: return x < y;
      case kSle: return x <= y;
    }
    return false;
  }
};
template <class T, isa::IntPredicate P>
struct CmpLoop {
  template <bool UA, bool UB>
  static void Run(void* d, const void* a, const void* b, const void*, int n, int64_t) {
    uint8_t* D = static_cast<uint8_t*>(d);
    const T* X = static_cast<const T*>(a);
    const T* Y = static_cast<const T*>(b);
    const T x = X[0], y = Y[0];
#pragma GCC ivdep
    for (int i = 0; i < n; ++i) D[i] = Cmp<T, P>::f(UA ? x : X[i], UB ? y : Y[i]);
  }
};
template <class T, isa::IntPredicate P>
LaneFn PickCmpP(unsigned u) {
  return PickTwo<CmpLoop<T, P>>(u);
}
template <class T>
LaneFn PickCmp(int64_t predicate, unsigned u) {
  using enum isa::IntPredicate;
  switch (static_cast<isa::IntPredicate>(predicate)) {
    case kEq: return PickCmpP<T, kEq>(u);
    case kNe: return PickCmpP<T, kNe>(u);
    case kUgt: return PickCmpP<T, kUgt>(u);
    case kUge: return PickCmpP<T, kUge>(u);
    case kUlt: return PickCmpP<T, kUlt>(u);
    case kUle: return PickCmpP<T, kUle>(u);
    case kSgt: return PickCmpP<T, kSgt>(u);
    case kSge: return PickCmpP<T, kSge>(u);
    case kSlt: return PickCmpP<T, kSlt>(u);
    case kSle: return PickCmpP<T, kSle>(u);
  }
  return nullptr;
}

// The check runs over all lanes without a branch first; only a hit pays for finding the lane.
template <class T, Op O>
bool Overflow(const void* a, const void* b, const void* c, unsigned u, const uint8_t* mask, int n,
              int* lane) {
  using V = S<T>;
  const V* X = static_cast<const V*>(a);
  const V* Y = static_cast<const V*>(b);
  const V* Z = static_cast<const V*>(c);
  auto wraps = [&](int i) -> bool {
    V x = X[u & 1 ? 0 : i], y = Y[u & 2 ? 0 : i], r;
    if constexpr (O == Op::kAdd) return __builtin_add_overflow(x, y, &r);
    if constexpr (O == Op::kSub) return __builtin_sub_overflow(x, y, &r);
    if constexpr (O == Op::kMul) return __builtin_mul_overflow(x, y, &r);
    if constexpr (O == Op::kShl) {
      if (T(y) >= T(kBits<T>)) return x != 0;
      return V(V(A<T>(x) << y) >> y) != x;
    }
    if constexpr (O == Op::kMad) {
      V z = Z[u & 4 ? 0 : i];
      return __builtin_mul_overflow(x, y, &r) || __builtin_add_overflow(r, z, &r);
    }
    return false;
  };
  if constexpr (sizeof(T) == 4) {
    const int64_t sx = u & 1 ? 0 : 1, sy = u & 2 ? 0 : 1;
    int bad = 0;
    if (O == Op::kAdd || O == Op::kSub || O == Op::kMul) {
      for (int i = 0; i < n; ++i) {
        int64_t x = X[i * sx], y = Y[i * sy],
                r = O == Op::kAdd   ? x + y
                    : O == Op::kSub ? x - y
                                    : x * y;
        bad |= r != int64_t(int32_t(r));
      }
      if (bad == 0) return false;
    }
  }
  for (int i = 0; i < n; ++i) {
    if ((mask == nullptr || mask[i]) && wraps(i)) {
      *lane = i;
      return true;
    }
  }
  return false;
}
template <class T>
OverflowFn PickOverflow(Op op) {
  switch (op) {
    case Op::kAdd: return Overflow<T, Op::kAdd>;
    case Op::kSub: return Overflow<T, Op::kSub>;
    case Op::kMul: return Overflow<T, Op::kMul>;
    case Op::kMad: return Overflow<T, Op::kMad>;
    case Op::kShl: return Overflow<T, Op::kShl>;
    default: return nullptr;
  }
}

template <class T>
void BlendT(T* d, const T* s, const uint8_t* mask, int n) {
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) d[i] = mask[i] ? s[i] : d[i];
}
template <class T>
void FillT(T* d, T v, int n) {
  for (int i = 0; i < n; ++i) d[i] = v;
}
template <class T>
T ReadAs(const void* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

}  // namespace

LaneFn SelectInt(const isa::Inst& inst, unsigned u) {
  Type type = inst.type;
  switch (inst.op) {
    case Op::kAdd: return PickInt<FAddI>(type, u);
    case Op::kSub: return PickInt<FSubI>(type, u);
    case Op::kMul: return PickInt<FMulI>(type, u);
    case Op::kUDiv: return PickInt<FUDiv>(type, u);
    case Op::kSDiv: return PickInt<FSDiv>(type, u);
    case Op::kURem: return PickInt<FURem>(type, u);
    case Op::kSRem: return PickInt<FSRem>(type, u);
    case Op::kAnd: return PickInt<FAnd>(type, u);
    case Op::kOr: return PickInt<FOr>(type, u);
    case Op::kXor: return PickInt<FXor>(type, u);
    case Op::kShl: return PickInt<FShl>(type, u);
    case Op::kLShr: return PickInt<FLShr>(type, u);
    case Op::kAShr: return PickInt<FAShr>(type, u);
    case Op::kSMin: return PickInt<FSMin>(type, u);
    case Op::kSMax: return PickInt<FSMax>(type, u);
    case Op::kUMin: return PickInt<FUMin>(type, u);
    case Op::kUMax: return PickInt<FUMax>(type, u);
    case Op::kUMulHi: return PickInt<FUMulHi>(type, u);
    case Op::kSMulHi: return PickInt<FSMulHi>(type, u);
    case Op::kUAddSat: return PickInt<FUAddSat>(type, u);
    case Op::kSAddSat: return PickInt<FSAddSat>(type, u);
    case Op::kUSubSat: return PickInt<FUSubSat>(type, u);
    case Op::kSSubSat: return PickInt<FSSubSat>(type, u);
    case Op::kAbs: return PickUn<FAbs>(isa::TypeBytes(type));
    case Op::kPopc: return PickUn<FPopc>(isa::TypeBytes(type));
    case Op::kClz: return PickUn<FClz>(isa::TypeBytes(type));
    case Op::kCtz: return PickUn<FCtz>(isa::TypeBytes(type));
    case Op::kBitReverse: return PickUn<FBrev>(isa::TypeBytes(type));
    case Op::kByteSwap: return PickUn<FBswap>(isa::TypeBytes(type));
    case Op::kMov:
    case Op::kBitcast: return PickUn<FMov>(isa::TypeBytes(type));
    case Op::kFunnelShl: return PickTri<FFshl>(type, u);
    case Op::kFunnelShr: return PickTri<FFshr>(type, u);
    case Op::kMad: return PickTri<FMad>(type, u);
    case Op::kBytePermute: return type == Type::kI32 ? PickTriT<FPrmt, uint32_t>(u) : nullptr;
    case Op::kSelect:
      switch (isa::TypeBytes(type)) {
        case 1: return PickSel<uint8_t>(u);
        case 2: return PickSel<uint16_t>(u);
        case 4: return PickSel<uint32_t>(u);
        default: return PickSel<uint64_t>(u);
      }
    case Op::kICmp:
      switch (isa::TypeBytes(static_cast<Type>(inst.aux))) {
        case 1: return PickCmp<uint8_t>(inst.imm, u);
        case 2: return PickCmp<uint16_t>(inst.imm, u);
        case 4: return PickCmp<uint32_t>(inst.imm, u);
        default: return PickCmp<uint64_t>(inst.imm, u);
      }
    default: return nullptr;
  }
}

OverflowFn SelectOverflow(const isa::Inst& inst) {
  if ((inst.extra & isa::kCheckOverflow) == 0) return nullptr;
  switch (inst.type) {
    case Type::kI32: return PickOverflow<uint32_t>(inst.op);
    case Type::kI64: return PickOverflow<uint64_t>(inst.op);
    default: return nullptr;
  }
}

void Blend(void* d, const void* s, const uint8_t* mask, int n, int size) {
  switch (size) {
    case 1: return BlendT(static_cast<uint8_t*>(d), static_cast<const uint8_t*>(s), mask, n);
    case 2: return BlendT(static_cast<uint16_t*>(d), static_cast<const uint16_t*>(s), mask, n);
    case 4: return BlendT(static_cast<uint32_t*>(d), static_cast<const uint32_t*>(s), mask, n);
    default: return BlendT(static_cast<uint64_t*>(d), static_cast<const uint64_t*>(s), mask, n);
  }
}

void Fill(void* d, const void* value, int n, int size) {
  switch (size) {
    case 1: return FillT(static_cast<uint8_t*>(d), ReadAs<uint8_t>(value), n);
    case 2: return FillT(static_cast<uint16_t*>(d), ReadAs<uint16_t>(value), n);
    case 4: return FillT(static_cast<uint32_t*>(d), ReadAs<uint32_t>(value), n);
    default: return FillT(static_cast<uint64_t*>(d), ReadAs<uint64_t>(value), n);
  }
}

}  // namespace kuafu::simt
