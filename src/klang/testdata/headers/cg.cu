// SPDX-License-Identifier: Apache-2.0
// nvcc
// Cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void k(float* x) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  auto half = cg::tiled_partition<16>(tile);
  float s = cg::reduce(tile, x[block.thread_rank()], cg::plus<float>());
  s += half.shfl_down(s, 1) + tile.any(s > 0) + tile.ballot(1);
  if (tile.thread_rank() < 7) { auto c = cg::coalesced_threads(); s += c.size() + c.shfl(s, 0); }
  cg::sync(block);
  cg::this_grid().sync();
  x[tile.meta_group_rank()] = s;
}
