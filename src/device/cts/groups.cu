// SPDX-License-Identifier: Apache-2.0
// Cooperative groups: the block, tiles of each size, coalesced groups, the grid with its barrier by
// a cooperative launch, and the refusal of a grid that cannot be resident.

// FINDING: launch_invalid
#include "check.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void Block(unsigned* out) {
  cg::thread_block block = cg::this_thread_block();
  __shared__ unsigned cell[64];
  const unsigned rank = block.thread_rank();
  cell[rank] = rank * 2;
  block.sync();
  unsigned* o = out + (blockIdx.x * 64 + rank) * 4;
  o[0] = rank, o[1] = unsigned(block.size()), o[2] = cell[63 - rank];
  cg::sync(block);
  o[3] = block.group_index().x * 100 + block.thread_index().y;
}

template <int N>
__global__ void Tile(const int* in, int* out) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<N> tile = cg::tiled_partition<N>(block);
  const int t = int(threadIdx.x), v = in[t];
  int* o = out + t * 12;
  o[0] = int(tile.thread_rank()), o[1] = int(tile.size()), o[2] = int(tile.meta_group_rank());
  o[3] = tile.shfl(v, N - 1), o[4] = tile.shfl_up(v, 1), o[5] = tile.shfl_down(v, 1),
  o[6] = tile.shfl_xor(v, N / 2);
  o[7] = tile.any(v % 7 == 0) != 0, o[8] = tile.all(v % 2 == 0) != 0,
  o[9] = int(tile.ballot(v % 2));
  o[10] = cg::reduce(tile, v, cg::plus<int>()), o[11] = cg::reduce(tile, v, cg::greater<int>());
  tile.sync();
}
template <int N>
static void CheckTile(int threads) {
  std::vector<int> v(threads);
  for (int t = 0; t < threads; ++t)
    v[t] = int(cts::Mix(unsigned(t)) % 50) * (t / N % 3 == 1 ? 2 : 1);
  cts::Buffer<int> in(v), out(size_t(threads * 12));
  Tile<N><<<1, threads>>>(in.get(), out.get());
  CTS_DONE();
  const std::vector<int> got = out.Read();
  for (int t = 0; t < threads; ++t) {
    const int* o = &got[t * 12];
    const int first = t / N * N, rank = t % N;
    int any = 0, all = 1, sum = 0, most = v[first];
    unsigned ballot = 0;
    for (int k = 0; k < N; ++k) {
      const int w = v[first + k];
      any |= w % 7 == 0, all &= w % 2 == 0, ballot |= unsigned(w % 2) << k, sum += w,
          most = w > most ? w : most;
    }
    const int expected[12] = {rank,
                              N,
                              t / N,
                              v[first + N - 1],
                              v[rank ? t - 1 : t],
                              v[rank < N - 1 ? t + 1 : t],
                              v[first + (rank ^ N / 2)],
                              any,
                              all,
                              int(ballot),
                              sum,
                              most};
    for (int k = 0; k < 12; ++k) CTS_EQ(o[k], expected[k]);
  }
}
// Only some lanes come; the group is of those, ranked by lane. Within 32 lanes, as no wider mask
// has a public definition.
__global__ void Coalesced(int* out) {
  const int t = int(threadIdx.x);
  out[t] = -1;
  if (t < 32 && t % 3 == 1) {
    cg::coalesced_group group = cg::coalesced_threads();
    // Lanes may arrive in several parties; what must hold is true of any.
    const int first = group.shfl(t, 0), rank = int(group.thread_rank()), size = int(group.size());
    out[t] = rank < size && first <= t && first % 3 == 1 && (rank == 0) == (first == t);
    group.sync();
  }
}

__global__ void Grid(int* data, int* out, int rounds) {
  cg::grid_group grid = cg::this_grid();
  const int me = int(grid.thread_rank()), n = int(grid.size());
  int sum = 0;
  for (int r = 0; r < rounds; ++r) {
    data[me] = me * 10 + r;
    grid.sync();
    sum += data[(me + int(blockDim.x)) % n];  // of another block
    grid.sync();
  }
  out[me] = sum;
}

int main() {
  const int warp = cts::WarpSize();
  cts::Buffer<unsigned> block(3 * 64 * 4);
  Block<<<3, dim3(16, 4)>>>(block.get());
  CTS_DONE();
  const std::vector<unsigned> b = block.Read();
  for (unsigned i = 0; i < 192; ++i) {
    CTS_EQ(b[i * 4], i % 64), CTS_EQ(b[i * 4 + 1], 64u), CTS_EQ(b[i * 4 + 2], (63 - i % 64) * 2);
    CTS_EQ(b[i * 4 + 3], i / 64 * 100 + i % 64 / 16);
  }
  CheckTile<2>(2 * warp), CheckTile<4>(2 * warp), CheckTile<8>(2 * warp), CheckTile<16>(2 * warp);
  CheckTile<32>(2 * warp);
  if (warp == 32) {
    cts::Buffer<int> coalesced(32);
    Coalesced<<<1, 32>>>(coalesced.get());
    CTS_DONE();
    for (int t = 0; t < 32; ++t) CTS_EQ(coalesced.Read()[t], t % 3 == 1 ? 1 : -1);
  }

  int cooperative = 0;
  CTS_OK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
  if (cooperative) {
    int blocks = 4, threads = 64, rounds = 5;
    cts::Buffer<int> data(256), out(256);
    int *d = data.get(), *o = out.get();
    void* arguments[] = {&d, &o, &rounds};
    const void* kernel = reinterpret_cast<const void*>(Grid);
    CTS_OK(cudaLaunchCooperativeKernel(kernel, dim3(blocks), dim3(threads), arguments, 0, nullptr));
    CTS_DONE();
    for (int t = 0; t < 256; ++t) CTS_EQ(out.Read()[t], (t + 64) % 256 * 50 + 10);
    CTS_ERROR(cudaLaunchCooperativeKernel(kernel, dim3(1 << 20), dim3(1024), arguments, 0, nullptr),
              cudaErrorCooperativeLaunchTooLarge);
    CTS_ERROR(cudaGetLastError(), cudaErrorCooperativeLaunchTooLarge);
    CTS_OK(cudaDeviceSynchronize());
  }
  return cts::Finish();
}
