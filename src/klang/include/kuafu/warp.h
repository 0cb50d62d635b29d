// SPDX-License-Identifier: Apache-2.0
// Warp functions. A warp may be 128 lanes wide, so masks travel as 64 bits, zero-extended from what the
// source wrote; what a 32-bit mask means on a wider warp is for the simulator to judge.
#pragma once

#include "kuafu/intrinsics.h"

#ifdef KUAFU_MUSA
struct __kuafu_mask {
  unsigned long long bits;
  __attribute__((always_inline, device)) constexpr __kuafu_mask(int m) : bits((unsigned)m) {}
  __attribute__((always_inline, device)) constexpr __kuafu_mask(unsigned m) : bits(m) {}
  __attribute__((always_inline, device)) constexpr __kuafu_mask(long m) : bits((unsigned long long)m) {}
  __attribute__((always_inline, device)) constexpr __kuafu_mask(unsigned long m) : bits(m) {}
  __attribute__((always_inline, device)) constexpr __kuafu_mask(long long m) : bits((unsigned long long)m) {}
  __attribute__((always_inline, device)) constexpr __kuafu_mask(unsigned long long m) : bits(m) {}
  __attribute__((always_inline, device)) constexpr operator unsigned long long() const { return bits; }
};
typedef unsigned long long __kuafu_lanes;
#define KUAFU_ALL_LANES __kuafu_mask(~0ull)
#else
typedef unsigned __kuafu_mask;
typedef unsigned __kuafu_lanes;
#define KUAFU_ALL_LANES 0xffffffffu
#endif

typedef unsigned long long __kuafu_u64;
KUAFU_WARP_EXTERN unsigned __kuafu_shfl_idx_i32(__kuafu_u64 mask, unsigned value, int lane, int width);
KUAFU_WARP_EXTERN unsigned __kuafu_shfl_up_i32(__kuafu_u64 mask, unsigned value, int delta, int width);
KUAFU_WARP_EXTERN unsigned __kuafu_shfl_down_i32(__kuafu_u64 mask, unsigned value, int delta, int width);
KUAFU_WARP_EXTERN unsigned __kuafu_shfl_xor_i32(__kuafu_u64 mask, unsigned value, int lane_mask, int width);
KUAFU_WARP_EXTERN int __kuafu_vote_any(__kuafu_u64 mask, int predicate);
KUAFU_WARP_EXTERN int __kuafu_vote_all(__kuafu_u64 mask, int predicate);
KUAFU_WARP_EXTERN int __kuafu_vote_uni(__kuafu_u64 mask, int predicate);
KUAFU_WARP_EXTERN __kuafu_u64 __kuafu_ballot(__kuafu_u64 mask, int predicate);
KUAFU_WARP_EXTERN __kuafu_u64 __kuafu_ballot_hi(__kuafu_u64 mask, int predicate);
KUAFU_WARP_EXTERN __kuafu_u64 __kuafu_activemask();
KUAFU_WARP_EXTERN __kuafu_u64 __kuafu_match_any_i32(__kuafu_u64 mask, unsigned value);
KUAFU_WARP_EXTERN __kuafu_u64 __kuafu_match_any_i64(__kuafu_u64 mask, __kuafu_u64 value);
KUAFU_WARP_EXTERN __kuafu_u64 __kuafu_match_all_i32(__kuafu_u64 mask, unsigned value, int* predicate);
KUAFU_WARP_EXTERN __kuafu_u64 __kuafu_match_all_i64(__kuafu_u64 mask, __kuafu_u64 value, int* predicate);
KUAFU_WARP_EXTERN int __kuafu_reduce_add_i32(__kuafu_u64 mask, int value);
KUAFU_WARP_EXTERN int __kuafu_reduce_min_i32(__kuafu_u64 mask, int value);
KUAFU_WARP_EXTERN int __kuafu_reduce_max_i32(__kuafu_u64 mask, int value);
KUAFU_WARP_EXTERN unsigned __kuafu_reduce_add_u32(__kuafu_u64 mask, unsigned value);
KUAFU_WARP_EXTERN unsigned __kuafu_reduce_min_u32(__kuafu_u64 mask, unsigned value);
KUAFU_WARP_EXTERN unsigned __kuafu_reduce_max_u32(__kuafu_u64 mask, unsigned value);
KUAFU_WARP_EXTERN unsigned __kuafu_reduce_and_u32(__kuafu_u64 mask, unsigned value);
KUAFU_WARP_EXTERN unsigned __kuafu_reduce_or_u32(__kuafu_u64 mask, unsigned value);
KUAFU_WARP_EXTERN unsigned __kuafu_reduce_xor_u32(__kuafu_u64 mask, unsigned value);
KUAFU_WARP_EXTERN void __kuafu_syncwarp(__kuafu_u64 mask);
// Of a tile: the lanes of the caller's own aligned group of `size`, which no 64-bit mask can name on a
// warp of 128.
KUAFU_WARP_EXTERN unsigned __kuafu_shfl_idx_i32_tile(int size, unsigned value, int lane, int width);
KUAFU_WARP_EXTERN unsigned __kuafu_shfl_up_i32_tile(int size, unsigned value, int delta, int width);
KUAFU_WARP_EXTERN unsigned __kuafu_shfl_down_i32_tile(int size, unsigned value, int delta, int width);
KUAFU_WARP_EXTERN unsigned __kuafu_shfl_xor_i32_tile(int size, unsigned value, int lane_mask, int width);
KUAFU_WARP_EXTERN int __kuafu_vote_any_tile(int size, int predicate);
KUAFU_WARP_EXTERN int __kuafu_vote_all_tile(int size, int predicate);
KUAFU_WARP_EXTERN __kuafu_u64 __kuafu_ballot_tile(int size, int predicate);
KUAFU_WARP_EXTERN void __kuafu_syncwarp_tile(int size);

KUAFU_D void __syncwarp(__kuafu_mask mask = KUAFU_ALL_LANES) { __kuafu_syncwarp(mask); }
KUAFU_D int __any_sync(__kuafu_mask mask, int p) { return __kuafu_vote_any(mask, p); }
KUAFU_D int __all_sync(__kuafu_mask mask, int p) { return __kuafu_vote_all(mask, p); }
KUAFU_D int __uni_sync(__kuafu_mask mask, int p) { return __kuafu_vote_uni(mask, p); }
KUAFU_D __kuafu_lanes __ballot_sync(__kuafu_mask mask, int p) { return (__kuafu_lanes)__kuafu_ballot(mask, p); }
KUAFU_D __kuafu_lanes __activemask() { return (__kuafu_lanes)__kuafu_activemask(); }

// One shuffle of 32 bits per 32 bits of value.
#define KUAFU_SHFL(name, intrinsic, Mask, Lane, lane)                                                 \
  template <class T> __attribute__((always_inline, device)) inline T name(Mask mask, T value, Lane lane, int width = warpSize) { \
    static_assert(__is_trivially_copyable(T) && sizeof(T) <= 16, "kuafu: " #name " takes a scalar or a vector of at most 16 bytes"); \
    T result;                                                                                         \
    if constexpr (sizeof(T) == 4) {                                                                   \
      unsigned bits;                                                                                  \
      __builtin_memcpy(&bits, &value, 4);                                                             \
      bits = intrinsic(mask, bits, (int)lane, width);                                 \
      __builtin_memcpy(&result, &bits, 4);                                                            \
    } else if constexpr (sizeof(T) < 4) {                                                             \
      unsigned bits = 0;                                                                              \
      __builtin_memcpy(&bits, &value, sizeof(T));                                                     \
      bits = intrinsic(mask, bits, (int)lane, width);                                 \
      __builtin_memcpy(&result, &bits, sizeof(T));                                                    \
    } else {                                                                                          \
      constexpr int kWords = sizeof(T) / 4;                                                           \
      static_assert(kWords * 4 == sizeof(T), "kuafu: " #name " takes a multiple of four bytes");      \
      unsigned bits[kWords];                                                                          \
      __builtin_memcpy(bits, &value, sizeof(T));                                                      \
      bits[0] = intrinsic(mask, bits[0], (int)lane, width);                           \
      bits[1] = intrinsic(mask, bits[1], (int)lane, width);                           \
      if constexpr (kWords > 2) bits[2] = intrinsic(mask, bits[2], (int)lane, width); \
      if constexpr (kWords > 3) bits[3] = intrinsic(mask, bits[3], (int)lane, width); \
      __builtin_memcpy(&result, bits, sizeof(T));                                                     \
    }                                                                                                 \
    return result;                                                                                    \
  }
KUAFU_SHFL(__shfl_sync, __kuafu_shfl_idx_i32, __kuafu_mask, int, lane)
KUAFU_SHFL(__shfl_up_sync, __kuafu_shfl_up_i32, __kuafu_mask, unsigned, delta)
KUAFU_SHFL(__shfl_down_sync, __kuafu_shfl_down_i32, __kuafu_mask, unsigned, delta)
KUAFU_SHFL(__shfl_xor_sync, __kuafu_shfl_xor_i32, __kuafu_mask, int, lane_mask)
KUAFU_SHFL(__kuafu_tile_shfl, __kuafu_shfl_idx_i32_tile, int, int, lane)
KUAFU_SHFL(__kuafu_tile_shfl_up, __kuafu_shfl_up_i32_tile, int, unsigned, delta)
KUAFU_SHFL(__kuafu_tile_shfl_down, __kuafu_shfl_down_i32_tile, int, unsigned, delta)
KUAFU_SHFL(__kuafu_tile_shfl_xor, __kuafu_shfl_xor_i32_tile, int, int, lane_mask)
#undef KUAFU_SHFL

template <class T> __attribute__((always_inline, device)) inline __kuafu_lanes __match_any_sync(__kuafu_mask mask, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "kuafu: __match_any_sync takes 32 or 64 bits");
  if constexpr (sizeof(T) == 4) {
    unsigned bits;
    __builtin_memcpy(&bits, &value, 4);
    return (__kuafu_lanes)__kuafu_match_any_i32(mask, bits);
  } else {
    __kuafu_u64 bits;
    __builtin_memcpy(&bits, &value, 8);
    return (__kuafu_lanes)__kuafu_match_any_i64(mask, bits);
  }
}
template <class T> __attribute__((always_inline, device)) inline __kuafu_lanes __match_all_sync(__kuafu_mask mask, T value, int* p) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "kuafu: __match_all_sync takes 32 or 64 bits");
  if constexpr (sizeof(T) == 4) {
    unsigned bits;
    __builtin_memcpy(&bits, &value, 4);
    return (__kuafu_lanes)__kuafu_match_all_i32(mask, bits, p);
  } else {
    __kuafu_u64 bits;
    __builtin_memcpy(&bits, &value, 8);
    return (__kuafu_lanes)__kuafu_match_all_i64(mask, bits, p);
  }
}
KUAFU_D int __reduce_add_sync(__kuafu_mask mask, int v) { return __kuafu_reduce_add_i32(mask, v); }
KUAFU_D int __reduce_min_sync(__kuafu_mask mask, int v) { return __kuafu_reduce_min_i32(mask, v); }
KUAFU_D int __reduce_max_sync(__kuafu_mask mask, int v) { return __kuafu_reduce_max_i32(mask, v); }
KUAFU_D unsigned __reduce_add_sync(__kuafu_mask mask, unsigned v) { return __kuafu_reduce_add_u32(mask, v); }
KUAFU_D unsigned __reduce_min_sync(__kuafu_mask mask, unsigned v) { return __kuafu_reduce_min_u32(mask, v); }
KUAFU_D unsigned __reduce_max_sync(__kuafu_mask mask, unsigned v) { return __kuafu_reduce_max_u32(mask, v); }
KUAFU_D unsigned __reduce_and_sync(__kuafu_mask mask, unsigned v) { return __kuafu_reduce_and_u32(mask, v); }
KUAFU_D unsigned __reduce_or_sync(__kuafu_mask mask, unsigned v) { return __kuafu_reduce_or_u32(mask, v); }
KUAFU_D unsigned __reduce_xor_sync(__kuafu_mask mask, unsigned v) { return __kuafu_reduce_xor_u32(mask, v); }

// Without a mask: removed for sm_70 and later, so they fail by name.
#define KUAFU_REMOVED(name)                                                                           \
  template <class... A> __attribute__((device, unavailable("kuafu: " #name " was removed; use " #name "_sync"))) int name(A...);
KUAFU_REMOVED(__shfl) KUAFU_REMOVED(__shfl_up) KUAFU_REMOVED(__shfl_down) KUAFU_REMOVED(__shfl_xor)
KUAFU_REMOVED(__any) KUAFU_REMOVED(__all) KUAFU_REMOVED(__ballot)
#undef KUAFU_REMOVED
