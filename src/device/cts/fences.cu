// SPDX-License-Identifier: Apache-2.0
// Fences: data written before a fence is there for whoever saw the flag written after it. Between
// lanes, warps and blocks; and the pattern of the last block that adds up what all blocks wrote
// (CUDA programming guide, "Memory Fence Functions").
#include "check.h"

// The writer's block publishes, the reader's block waits for it.
__global__ void Message(int* data, int* flag, int* out, int n) {
  const int reader = int(gridDim.x) - 1;
  if (int(blockIdx.x) != reader) {
    if (blockIdx.x != 0) return;
    for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = i * 3 + 1;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(flag, 1);
    return;
  }
  if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0) == 0) {
    }
    __threadfence();
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = data[i];
}

// Back and forth: each side answers what the other wrote.
__global__ void PingPong(int* value, int* turn, int rounds) {
  if (threadIdx.x != 0) return;
  const int me = int(blockIdx.x);
  for (int r = 0; r < rounds; ++r) {
    while (atomicAdd(turn, 0) != 2 * r + me) {
    }
    __threadfence();
    *value = *value * 2 + me;
    __threadfence();
    atomicAdd(turn, 1);
  }
}

// Between warps of a block, through shared memory.
__global__ void BlockMessage(int* out) {
  __shared__ int data[8], flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  const int warp = int(threadIdx.x) / warpSize;
  if (warp == 1 && threadIdx.x % warpSize == 0) {
    for (int i = 0; i < 8; ++i) data[i] = 50 + i;
    __threadfence_block();
    atomicExch(&flag, 1);
  }
  if (warp == 0 && threadIdx.x == 0) {
    while (atomicAdd(&flag, 0) == 0) {
    }
    __threadfence_block();
    for (int i = 0; i < 8; ++i) out[i] = data[i];
  }
}

__global__ void LastBlock(const int* in, int n, int* partial, unsigned* done, long long* total) {
  __shared__ int sum;
  __shared__ bool last;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&sum, in[i]);
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    __threadfence();
    long long all = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) all += partial[b];
    *total = all;
  }
}

// A system fence, then the host reads after waiting.
__global__ void System(int* data) {
  data[threadIdx.x] = int(threadIdx.x) + 5;
  __threadfence_system();
}

int main() {
  const int warp = cts::WarpSize(), n = 300;
  for (int round = 0; round < 4; ++round) {
    cts::Buffer<int> data(n), flag(1), out(n, 0xff);
    Message<<<2 + round % 2, 64>>>(data.get(), flag.get(), out.get(), n);
    CTS_DONE();
    const std::vector<int> got = out.Read();
    for (int i = 0; i < n; ++i) CTS_EQ(got[i], i * 3 + 1);
  }
  {
    cts::Buffer<int> value(1), turn(1);
    PingPong<<<2, warp>>>(value.get(), turn.get(), 10);
    CTS_DONE();
    int expected = 0;
    for (int r = 0; r < 10; ++r) expected = expected * 2 * 2 + 1;
    CTS_EQ(value.Read()[0], expected), CTS_EQ(turn.Read()[0], 20);
  }
  {
    cts::Buffer<int> out(8);
    BlockMessage<<<1, 2 * warp>>>(out.get());
    CTS_DONE();
    for (int i = 0; i < 8; ++i) CTS_EQ(out.Read()[i], 50 + i);
  }
  {
    std::vector<int> in(2000);
    long long sum = 0;
    for (int i = 0; i < 2000; ++i) sum += in[i] = int(cts::Mix(unsigned(i)) % 1000);
    cts::Buffer<int> values(in), partial(16);
    cts::Buffer<unsigned> done(1);
    cts::Buffer<long long> total(1);
    for (int round = 0; round < 3; ++round) {  // the counter wraps, so it serves again
      LastBlock<<<16, 64>>>(values.get(), 2000, partial.get(), done.get(), total.get());
      CTS_DONE();
      CTS_EQ(total.Read()[0], sum), CTS_EQ(done.Read()[0], 0u);
    }
  }
  {
    cts::Buffer<int> data(64);
    System<<<1, 64>>>(data.get());
    CTS_DONE();
    for (int i = 0; i < 64; ++i) CTS_EQ(data.Read()[i], i + 5);
  }
  return cts::Finish();
}
