// SPDX-License-Identifier: Apache-2.0
// Forward progress: threads that wait for other threads. Lanes of one warp (independent thread
// scheduling, CUDA programming guide 7.0 and later), warps of a block, blocks that are resident
// together. Every wait ends on a real device; a backend that runs a divergent branch to its end
// before the other side never returns.
#include "check.h"

// A lock taken by every lane in turn.
__global__ void LaneLock(int* lock, volatile int* counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *counter = *counter + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}
// The same where the winner leaves the loop before the others may go on.
__global__ void LaneLockBreak(int* lock, volatile int* counter) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  *counter = *counter + 1;
  __threadfence();
  atomicExch(lock, 0);
}
// Lane i waits for lane i + 1; the last starts. Order of the branch sides must not matter.
__global__ void LaneChain(int* flags) {
  const int t = threadIdx.x, n = blockDim.x;
  if (t + 1 < n) {
    while (atomicAdd(&flags[t + 1], 0) == 0) {
    }
  }
  atomicExch(&flags[t], t + 1);
}
// One side of a branch waits for the other side, both ways round.
__global__ void Sides(int* flag, int* out, int waiting_side) {
  const bool waits = int(threadIdx.x & 1) == waiting_side;
  if (waits) {
    while (atomicAdd(flag, 0) == 0) {
    }
    atomicAdd(&out[0], 1);
  } else {
    atomicExch(flag, 1);
    atomicAdd(&out[1], 1);
  }
}
// Warps of one block through shared memory.
__global__ void WarpChain(int* out) {
  __shared__ int turn;
  if (threadIdx.x == 0) turn = 0;
  __syncthreads();
  const int warp = int(threadIdx.x) / warpSize, warps = int(blockDim.x) / warpSize;
  if (threadIdx.x % warpSize == 0) {
    const int mine = warps - 1 - warp;  // the last warp goes first
    while (atomicAdd(&turn, 0) != mine) {
    }
    out[mine] = warp;
    __threadfence_block();
    atomicAdd(&turn, 1);
  }
}
// Blocks that are resident together: the first waits for the last.
__global__ void BlockChain(int* turn, int* out) {
  if (threadIdx.x == 0) {
    const int mine = int(gridDim.x - 1 - blockIdx.x);
    while (atomicAdd(turn, 0) != mine) {
    }
    out[mine] = int(blockIdx.x);
    __threadfence();
    atomicAdd(turn, 1);
  }
}
// A barrier of all blocks made of one counter, used twice.
__global__ void SpinBarrier(int* arrived, int* data, int* out) {
  for (int round = 1; round <= 2; ++round) {
    if (threadIdx.x == 0) {
      atomicAdd(&data[round - 1], int(blockIdx.x) + 1);
      __threadfence();
      atomicAdd(arrived, 1);
      while (atomicAdd(arrived, 0) < int(gridDim.x) * round) {
      }
      __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 0)
      out[(round - 1) * gridDim.x + blockIdx.x] = atomicAdd(&data[round - 1], 0);
  }
}

int main() {
  const int warp = cts::WarpSize();
  {
    cts::Buffer<int> cells(2);
    LaneLock<<<1, 2 * warp>>>(cells.get(), cells.get() + 1);
    CTS_DONE();
    CTS_EQ(cells.Read()[0], 0), CTS_EQ(cells.Read()[1], 2 * warp);
  }
  {
    cts::Buffer<int> cells(2);
    LaneLockBreak<<<2, warp>>>(cells.get(), cells.get() + 1);
    CTS_DONE();
    CTS_EQ(cells.Read()[0], 0), CTS_EQ(cells.Read()[1], 2 * warp);
  }
  {
    cts::Buffer<int> flags{size_t(warp)};
    LaneChain<<<1, warp>>>(flags.get());
    CTS_DONE();
    for (int t = 0; t < warp; ++t) CTS_EQ(flags.Read()[t], t + 1);
  }
  for (const int side : {0, 1}) {
    cts::Buffer<int> flag(1), out(2);
    Sides<<<1, warp>>>(flag.get(), out.get(), side);
    CTS_DONE();
    CTS_EQ(out.Read()[0], warp / 2), CTS_EQ(out.Read()[1], warp / 2);
  }
  {
    const int warps = 4;
    cts::Buffer<int> out(4, 0xff);
    WarpChain<<<1, warps * warp>>>(out.get());
    CTS_DONE();
    for (int i = 0; i < warps; ++i) CTS_EQ(out.Read()[i], warps - 1 - i);
  }
  // Two blocks of one warp fit every device at once.
  {
    cts::Buffer<int> turn(1), out(2, 0xff);
    BlockChain<<<2, warp>>>(turn.get(), out.get());
    CTS_DONE();
    CTS_EQ(out.Read()[0], 1), CTS_EQ(out.Read()[1], 0);
    cts::Buffer<int> arrived(1), data(2), sums(4);
    SpinBarrier<<<2, warp>>>(arrived.get(), data.get(), sums.get());
    CTS_DONE();
    for (int i = 0; i < 4; ++i) CTS_EQ(sums.Read()[i], 3);
  }
  return cts::Finish();
}
