// SPDX-License-Identifier: Apache-2.0
// Cooperative groups over Kuafu's warp functions: blocks, tiles, coalesced groups, the grid.
#pragma once

#include "kuafu/prelude.h"

KUAFU_WARP_EXTERN void __kuafu_grid_sync();

namespace cooperative_groups {

#define KUAFU_CG __attribute__((always_inline, device)) inline

struct thread_block {
  static KUAFU_CG void sync() { __syncthreads(); }
  static KUAFU_CG unsigned thread_rank() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
  static KUAFU_CG unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static KUAFU_CG unsigned num_threads() { return size(); }
  static KUAFU_CG dim3 group_index() { return blockIdx; }
  static KUAFU_CG dim3 thread_index() { return threadIdx; }
  static KUAFU_CG dim3 group_dim() { return blockDim; }
  static KUAFU_CG dim3 dim_threads() { return blockDim; }
};
KUAFU_CG thread_block this_thread_block() { return {}; }

struct grid_group {
  static KUAFU_CG void sync() { __kuafu_grid_sync(); }
  static KUAFU_CG bool is_valid() { return true; }
  static KUAFU_CG unsigned long long block_rank() { return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }
  static KUAFU_CG unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  static KUAFU_CG unsigned long long size() { return num_blocks() * thread_block::size(); }
  static KUAFU_CG unsigned long long num_threads() { return size(); }
  static KUAFU_CG unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
  static KUAFU_CG dim3 group_dim() { return gridDim; }
  static KUAFU_CG dim3 dim_blocks() { return gridDim; }
};
KUAFU_CG grid_group this_grid() { return {}; }

// A tile of N consecutive lanes.
template <unsigned N, class Parent = void> struct thread_block_tile {
  static_assert(N >= 1 && N <= 128 && (N & (N - 1)) == 0, "kuafu: a tile has a power of two of lanes");
#ifndef KUAFU_MUSA
  static_assert(N <= 32, "kuafu: a tile has at most 32 lanes");
#endif
  KUAFU_CG thread_block_tile() {}
  template <class P> KUAFU_CG thread_block_tile(const thread_block_tile<N, P>&) {}
  static KUAFU_CG unsigned thread_rank() { return thread_block::thread_rank() & (N - 1); }
  static KUAFU_CG constexpr unsigned size() { return N; }
  static KUAFU_CG constexpr unsigned num_threads() { return N; }
  static KUAFU_CG unsigned meta_group_rank() { return thread_block::thread_rank() / N; }
  static KUAFU_CG unsigned meta_group_size() { return (thread_block::size() + N - 1) / N; }
  static KUAFU_CG void sync() { __kuafu_syncwarp_tile((int)N); }
  template <class T> static KUAFU_CG T shfl(T v, int lane) { return __kuafu_tile_shfl((int)N, v, lane, (int)N); }
  template <class T> static KUAFU_CG T shfl_up(T v, unsigned d) { return __kuafu_tile_shfl_up((int)N, v, d, (int)N); }
  template <class T> static KUAFU_CG T shfl_down(T v, unsigned d) { return __kuafu_tile_shfl_down((int)N, v, d, (int)N); }
  template <class T> static KUAFU_CG T shfl_xor(T v, unsigned m) { return __kuafu_tile_shfl_xor((int)N, v, (int)m, (int)N); }
  static KUAFU_CG int any(int p) { return __kuafu_vote_any_tile((int)N, p); }
  static KUAFU_CG int all(int p) { return __kuafu_vote_all_tile((int)N, p); }
  static KUAFU_CG __kuafu_lanes ballot(int p) { return (__kuafu_lanes)__kuafu_ballot_tile((int)N, p); }
};
// Of a tile: the ranks are within the parent.
template <unsigned N, unsigned M, class P> struct thread_block_tile<N, thread_block_tile<M, P>> : thread_block_tile<N> {
  static_assert(N <= M, "kuafu: a tile is not larger than its parent");
  static KUAFU_CG unsigned meta_group_rank() { return thread_block_tile<M, P>::thread_rank() / N; }
  static KUAFU_CG constexpr unsigned meta_group_size() { return M / N; }
};
template <unsigned N, class G> KUAFU_CG thread_block_tile<N, G> tiled_partition(const G&) { return {}; }

// A block or a tile whose size is known at run time only.
struct thread_group {
  unsigned lanes;  // 0: the block
  KUAFU_CG thread_group(const thread_block&) : lanes(0) {}
  template <unsigned N, class P> KUAFU_CG thread_group(const thread_block_tile<N, P>&) : lanes(N) {}
  KUAFU_CG explicit thread_group(unsigned n) : lanes(n) {}
  KUAFU_CG unsigned size() const { return lanes == 0 ? thread_block::size() : lanes; }
  KUAFU_CG unsigned num_threads() const { return size(); }
  KUAFU_CG unsigned thread_rank() const { return lanes == 0 ? thread_block::thread_rank() : thread_block::thread_rank() % lanes; }
  KUAFU_CG void sync() const {
    if (lanes == 0) __syncthreads();
    else __kuafu_syncwarp_tile((int)lanes);
  }
};
KUAFU_CG thread_group tiled_partition(const thread_group&, unsigned size) { return thread_group(size); }

// The lanes that are active together where the group is made.
struct coalesced_group {
  unsigned long long lanes;
  KUAFU_CG unsigned size() const { return (unsigned)__popcll(lanes); }
  KUAFU_CG unsigned num_threads() const { return size(); }
  KUAFU_CG unsigned thread_rank() const { return (unsigned)__popcll(lanes & ((1ull << (__laneid() & 63u)) - 1)); }
  KUAFU_CG unsigned meta_group_rank() const { return 0; }
  KUAFU_CG unsigned meta_group_size() const { return 1; }
  KUAFU_CG void sync() const { __kuafu_syncwarp(lanes); }
  KUAFU_CG int any(int p) const { return __kuafu_vote_any(lanes, p); }
  KUAFU_CG int all(int p) const { return __kuafu_vote_all(lanes, p); }
  template <class T> KUAFU_CG T shfl(T v, int rank) const { return __shfl_sync((__kuafu_lanes)lanes, v, Lane((unsigned)rank)); }
  template <class T> KUAFU_CG T shfl_down(T v, unsigned d) const {
    const unsigned to = thread_rank() + d;
    return __shfl_sync((__kuafu_lanes)lanes, v, to < size() ? Lane(to) : (int)__laneid());
  }
  template <class T> KUAFU_CG T shfl_up(T v, unsigned d) const {
    const unsigned rank = thread_rank();
    return __shfl_sync((__kuafu_lanes)lanes, v, rank >= d ? Lane(rank - d) : (int)__laneid());
  }
  // Lane of the given rank: the rank-th set bit.
  KUAFU_CG int Lane(unsigned rank) const {
    unsigned long long m = lanes;
    for (unsigned i = 0; i < rank && i < 63; ++i) m &= m - 1;
    return __ffsll((long long)m) - 1;
  }
};
KUAFU_CG coalesced_group coalesced_threads() { return {__kuafu_activemask()}; }

template <class T> struct plus { KUAFU_CG T operator()(T a, T b) const { return a + b; } };
template <class T> struct less { KUAFU_CG T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T> struct greater { KUAFU_CG T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T> struct bit_and { KUAFU_CG T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { KUAFU_CG T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { KUAFU_CG T operator()(T a, T b) const { return a ^ b; } };

template <unsigned N, class P, class T, class Op>
KUAFU_CG T reduce(const thread_block_tile<N, P>& g, T v, Op op) {
  for (unsigned offset = N / 2; offset > 0; offset /= 2) v = op(v, g.shfl_xor(v, offset));
  return v;
}
template <class T, class Op> KUAFU_CG T reduce(const coalesced_group& g, T v, Op op) {
  T r = g.shfl(v, 0);
  for (unsigned i = 1; i < g.size(); ++i) r = op(r, g.shfl(v, (int)i));
  return r;
}
template <unsigned N, class P, class T, class Op>
KUAFU_CG T inclusive_scan(const thread_block_tile<N, P>& g, T v, Op op) {
  for (unsigned offset = 1; offset < N; offset *= 2) {
    const T before = g.shfl_up(v, offset);
    if (g.thread_rank() >= offset) v = op(before, v);
  }
  return v;
}
template <unsigned N, class P, class T> KUAFU_CG T inclusive_scan(const thread_block_tile<N, P>& g, T v) {
  return inclusive_scan(g, v, plus<T>());
}
template <unsigned N, class P, class T> KUAFU_CG T exclusive_scan(const thread_block_tile<N, P>& g, T v) {
  const T before = g.shfl_up(inclusive_scan(g, v), 1);
  return g.thread_rank() == 0 ? T() : before;
}
template <class G> KUAFU_CG void sync(const G& g) { g.sync(); }
template <class G, class F> KUAFU_CG void invoke_one(const G& g, F f) { if (g.thread_rank() == 0) f(); }

#undef KUAFU_CG
}  // namespace cooperative_groups
