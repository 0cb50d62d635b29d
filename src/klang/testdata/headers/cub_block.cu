// SPDX-License-Identifier: Apache-2.0
// nvcc
// Block and warp parts of CUB, all overloads.
#include <cub/cub.cuh>
struct Product { template <class T> __device__ T operator()(const T& a, const T& b) const { return a * b; } };
struct Running {
  int total;
  __device__ int operator()(int block) { int before = total; total += block; return before; }
};
__global__ void reduce(const float* x, float* y, int n) {
  using Reduce = cub::BlockReduce<float, 128>;
  using Raking = cub::BlockReduce<double, 32, cub::BLOCK_REDUCE_RAKING, 4>;
  using Pair = cub::KeyValuePair<int, float>;
  using Arg = cub::BlockReduce<Pair, 128, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>;
  __shared__ union {
    typename Reduce::TempStorage reduce;
    typename Raking::TempStorage raking;
  } temp;
  __shared__ typename Arg::TempStorage arg;
  float a = Reduce(temp.reduce).Sum(x[threadIdx.x]);
  __syncthreads();
  float b = Reduce(temp.reduce).Reduce(x[threadIdx.x], cub::Max(), n);
  __syncthreads();
  double c = Raking(temp.raking).Reduce((double)x[threadIdx.x], Product());
  Pair best = Arg(arg).Reduce(Pair(threadIdx.x, x[threadIdx.x]), cub::ArgMax());
  float items[4] = {1, 2, 3, 4};
  __syncthreads();
  float d = Reduce(temp.reduce).Sum(items);
  if (threadIdx.x == 0) y[0] = a + b + (float)c + best.value + best.key + d;
}
__global__ void scan(const int* x, int* y) {
  using Scan = cub::BlockScan<int, 128, cub::BLOCK_SCAN_WARP_SCANS>;
  using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
  __shared__ typename Scan::TempStorage temp;
  __shared__ typename Load::TempStorage load;
  __shared__ typename Store::TempStorage store;
  int items[4], all, one;
  Load(load).Load(x, items, 400, 0);
  Scan(temp).InclusiveSum(items, items, all);
  __syncthreads();
  Running running{all};
  Scan(temp).ExclusiveSum(x[threadIdx.x], one, running);
  __syncthreads();
  Scan(temp).InclusiveScan(one, one, cub::Max());
  __syncthreads();
  Scan(temp).ExclusiveScan(one, one, -1, cub::Min(), all);
  __syncthreads();
  Store(store).Store(y, items, 400);
  y[0] = one + all;
}
__global__ void warps(const float* x, float* y) {
  using Warp = cub::WarpReduce<float>;
  using Half = cub::WarpScan<int, 16>;
  __shared__ typename Warp::TempStorage temp[4];
  __shared__ typename Half::TempStorage scan[8];
  float a = Warp(temp[threadIdx.x / 32]).Sum(x[threadIdx.x]);
  float b = Warp(temp[threadIdx.x / 32]).Reduce(x[threadIdx.x], cub::Min(), 17);
  int c;
  Half(scan[threadIdx.x / 16]).ExclusiveSum(threadIdx.x, c);
  y[threadIdx.x] = a + b + c;
}
