// SPDX-License-Identifier: Apache-2.0
// Warp functions, atomics of every width and scope, barriers with a result, cooperative groups, at
// the target's warp width. Inputs come from memory, so that the compiler cannot answer in advance.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <cstdio>

namespace cg = cooperative_groups;
#define FULL 0xffffffffu

__device__ int failed;
#define CHECK(condition)                                                           \
  do {                                                                             \
    if (!(condition)) {                                                            \
      if (atomicAdd(&failed, 1) < 8)                                               \
        printf("line %d thread %d: %s\n", __LINE__, int(threadIdx.x), #condition); \
    }                                                                              \
  } while (0)

struct Vec3 {
  float x, y, z;
};

__global__ void Warp(const int* in, int n) {
  const int t = threadIdx.x, lane = t % warpSize, base = t - lane;
  const int v = in[t];
  CHECK(__laneid() == unsigned(lane));
  CHECK(__shfl_sync(FULL, v, 3) == in[base + 3]);
  CHECK(__shfl_sync(FULL, v, 3, 8) == in[t / 8 * 8 + 3]);
  CHECK(__shfl_up_sync(FULL, v, 2) == in[lane < 2 ? t : t - 2]);
  CHECK(__shfl_up_sync(FULL, v, 1, 4) == in[t % 4 == 0 ? t : t - 1]);
  CHECK(__shfl_down_sync(FULL, v, 5) == in[lane + 5 < warpSize ? t + 5 : t]);
  CHECK(__shfl_xor_sync(FULL, v, 6) == in[t ^ 6]);
  CHECK(__shfl_xor_sync(FULL, double(v) + 0.25, 1) == in[t ^ 1] + 0.25);
  CHECK(__shfl_sync(FULL, (long long)v << 33, 1) == (long long)in[base + 1] << 33);
  CHECK(__shfl_sync(FULL, (short)v, 2) == (short)in[base + 2]);
  const Vec3 mine{float(v), v + 1.0f, v + 2.0f};
  const float4 four = __shfl_xor_sync(FULL, make_float4(mine.x, mine.y, mine.z, 1.0f), 2);
  CHECK(four.x == in[t ^ 2] && four.z == in[t ^ 2] + 2.0f && four.w == 1.0f);

  CHECK(__any_sync(FULL, v == in[base + 5]) && !__any_sync(FULL, v < 0) &&
        __all_sync(FULL, v >= 0));
  CHECK(__all_sync(FULL, lane < warpSize - 1) == 0 && __uni_sync(FULL, n > 0));
  const auto even = __ballot_sync(FULL, lane % 2 == 0);
  CHECK((even & 0xffu) == 0x55u);
  if (lane < 16) CHECK((__ballot_sync(0xffffu, lane >= 8) & 0xffffu) == 0xff00u);
  CHECK((__match_any_sync(FULL, lane / 4) & 0xffffffffu) ==
            (lane < 32 ? 0xfu << (lane / 4 * 4) : 0u) ||
        lane >= 32);
  int same = -1;
  CHECK(__match_all_sync(FULL, n, &same) != 0 && same == 1);
  CHECK(__match_all_sync(FULL, lane, &same) == 0 && same == 0);
  int sum = 0, low = in[base], high = in[base];
  for (int i = 0; i < warpSize; ++i) {
    sum += in[base + i];
    low = min(low, in[base + i]);
    high = max(high, in[base + i]);
  }
  CHECK(__reduce_add_sync(FULL, v) == sum && __reduce_min_sync(FULL, v) == low &&
        __reduce_max_sync(FULL, v) == high);
  CHECK(__reduce_or_sync(FULL, 1u << (lane % 8)) == 0xffu &&
        __reduce_and_sync(FULL, 0xf0u | lane) >= 0xf0u);
  CHECK(__reduce_xor_sync(FULL, unsigned(lane)) == 0u);
  __syncwarp();
  if (lane < 8) {
    CHECK(__shfl_down_sync(0xffu, v, 4, 8) == in[lane < 4 ? t + 4 : t]);
    __syncwarp(0xffu);
  }
  CHECK(__syncthreads_count(t % 3 == 0) == (n + 2) / 3);
  CHECK(__syncthreads_and(t < n) && !__syncthreads_and(t > 0) && __syncthreads_or(t == 7) &&
        !__syncthreads_or(t < 0));

  cg::thread_block block = cg::this_thread_block();
  CHECK(block.thread_rank() == unsigned(t) && block.size() == unsigned(n) &&
        block.group_index().x == blockIdx.x);
  block.sync();
  cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
  CHECK(tile.thread_rank() == unsigned(t % 16) && tile.meta_group_rank() == unsigned(t / 16) &&
        tile.size() == 16);
  CHECK(tile.shfl(v, 2) == in[t / 16 * 16 + 2] && tile.shfl_xor(v, 8) == in[t ^ 8]);
  CHECK(tile.any(t % 16 == 3) && tile.all(v >= 0) && tile.ballot(t % 16 < 4) == 0xfu);
  auto warp = cg::tiled_partition<32>(block);
  int part = 0;
  for (int i = 0; i < 32; ++i) part += in[t / 32 * 32 + i];
  CHECK(cg::reduce(warp, v, cg::plus<int>()) == part);
  auto quad = cg::tiled_partition<4>(warp);
  CHECK(quad.shfl_down(v, 1) == in[t % 4 < 3 ? t + 1 : t]);
  if (t % 2 == 0 && warpSize == 32) {  // a coalesced group of 128 lanes has no 64-bit mask
    cg::coalesced_group active = cg::coalesced_threads();
    CHECK(active.size() >= 1 && active.shfl(v, 0) >= 0);
    active.sync();
  }
  cg::sync(block);
}

struct Cells {
  int i;
  unsigned u, inc, dec, exch;
  unsigned long long ull, cas64;
  long long ll;
  unsigned long ul;
  float f, fx;
  double d;
  unsigned char pad[8];
  unsigned short half_word;
  int low, high, bits, shared_sum, block_sum, system_sum;
  unsigned long long low64;
  double by_cas;
  float low_float;
};

__device__ double AddByCas(double* p, double v) {
  auto* bits = reinterpret_cast<unsigned long long*>(p);
  unsigned long long old = *bits, seen;
  do {
    seen = old;
    old = atomicCAS(bits, seen, __double_as_longlong(v + __longlong_as_double(seen)));
  } while (old != seen);
  return __longlong_as_double(old);
}
__device__ void MinFloat(float* p, float v) {
  int* bits = reinterpret_cast<int*>(p);
  int old = *bits;
  while (v < __int_as_float(old)) {
    const int seen = old;
    old = atomicCAS(bits, seen, __float_as_int(v));
    if (old == seen) break;
  }
}

__global__ void Atomics(Cells* c, int n) {
  __shared__ int local;
  __shared__ float local_float;
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) local = 0, local_float = 0;
  __syncthreads();
  atomicAdd(&c->i, t);
  atomicSub(&c->i, 1);
  atomicAdd(&c->u, 2u);
  atomicAdd(&c->ull, 1ull << 33);
  atomicAdd(&c->ul, 3ul);
  atomicAdd(&c->f, 0.5f);
  atomicAdd(&c->d, 0.25);
  atomicMin(&c->low, -t);
  atomicMax(&c->high, t);
  atomicMin(&c->low64, 1000000000000ull - t);
  atomicMax(&c->ll, -5ll + t);
  atomicAnd(&c->bits, ~(1 << (t % 8)));
  atomicOr(&c->bits, 1 << (8 + t % 8));
  atomicXor(&c->exch, 1u << (t % 16));
  atomicInc(&c->inc, 6u);
  atomicDec(&c->dec, 6u);
  atomicExch(&c->fx, 7.5f);
  atomicAdd(&local, 1);
  atomicAdd_block(&local_float, 0.5f);
  atomicAdd_block(&c->block_sum, 1);
  atomicAdd_system(&c->system_sum, 1);
  atomicCAS(&c->half_word, (unsigned short)1, (unsigned short)0xbeef);
  atomicCAS(&c->cas64, 5ull, 1ull << 40);
  AddByCas(&c->by_cas, 1.5);
  MinFloat(&c->low_float, 100.0f - t);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    CHECK(local_float == local * 0.5f);
    atomicAdd(&c->shared_sum, local);
  }
  if (t == 0) CHECK(atomicAdd(&c->low, 0) <= 0 && atomicExch(&c->fx, 7.5f) == 7.5f);
}

// Every block adds before any block reads.
__global__ void Grid(int* sum, int* out) {
  cg::grid_group grid = cg::this_grid();
  if (threadIdx.x == 0) atomicAdd(sum, int(blockIdx.x) + 1);
  grid.sync();
  if (grid.thread_rank() % blockDim.x == 0) out[blockIdx.x] = *sum;
}

int main() {
  int bad = 0;
  auto expect = [&](bool right, const char* what) {
    if (!right) std::printf("host: %s\n", what);
    bad += !right;
  };
  const int n = 128;
  int in[n], *d_in;
  for (int i = 0; i < n; ++i) in[i] = (i * 37 + 11) % 101;
  cudaMalloc(&d_in, sizeof in);
  cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice);
  Warp<<<1, n>>>(d_in, n);

  Cells cells = {}, *d_cells;
  cells.bits = 0xff, cells.half_word = 1, cells.cas64 = 5, cells.low64 = ~0ull,
  cells.low_float = 1e9f;
  cells.ll = -100;
  cudaMalloc(&d_cells, sizeof cells);
  cudaMemcpy(d_cells, &cells, sizeof cells, cudaMemcpyHostToDevice);
  const int threads = 3 * 64;
  Atomics<<<3, 64>>>(d_cells, threads);
  cudaMemcpy(&cells, d_cells, sizeof cells, cudaMemcpyDeviceToHost);
  expect(cells.i == threads * (threads - 1) / 2 - threads && cells.u == 2u * threads,
         "32-bit sums");
  expect(cells.ull == (1ull << 33) * threads && cells.ul == 3ul * threads, "64-bit sums");
  expect(cells.f == threads * 0.5f && cells.d == threads * 0.25, "floating sums");
  expect(cells.low == -(threads - 1) && cells.high == threads - 1, "32-bit extremes");
  expect(cells.low64 == 1000000000000ull - (threads - 1) && cells.ll == threads - 6,
         "64-bit extremes");
  expect(cells.bits == 0xff00 && cells.exch == 0, "bit operations");
  expect(cells.inc == threads % 7 && cells.dec == (7 - threads % 7) % 7,
         "increment and decrement with a limit");
  expect(cells.fx == 7.5f && cells.half_word == 0xbeef && cells.cas64 == 1ull << 40,
         "exchange and compare");
  expect(cells.shared_sum == threads && cells.block_sum == threads && cells.system_sum == threads,
         "scopes");
  expect(cells.by_cas == threads * 1.5 && cells.low_float == 100.0f - (threads - 1),
         "loops of compare and swap");

  int *sums, host[9] = {};
  cudaMalloc(&sums, sizeof host);
  cudaMemset(sums, 0, sizeof host);
  int* sum = sums;
  int* out = sums + 1;
  void* arguments[] = {&sum, &out};
  expect(cudaLaunchCooperativeKernel((const void*)Grid, dim3(8), dim3(64), arguments, 0, 0) ==
             cudaSuccess,
         "cooperative launch");
  cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost);
  expect(host[1] == 36 && host[8] == 36, "grid barrier");
  int failures = 0;
  cudaMemcpyFromSymbol(&failures, failed, sizeof failures);
  if (failures) std::printf("%d checks failed\n", failures);
  return bad + failures == 0 ? 0 : 1;
}
