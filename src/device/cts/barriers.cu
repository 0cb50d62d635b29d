// SPDX-License-Identifier: Apache-2.0
// Block barriers: order of shared memory, the count, and and or forms, last warps that are not
// full, loops that diverge between barriers, early exits of whole warps' work.
#include "check.h"

// A rotation through shared memory: every round reads what a neighbour wrote in the one before.
__global__ void Rotate(int* out, int rounds) {
  extern __shared__ int ring[];
  const int n = blockDim.x, t = threadIdx.x;
  ring[t] = t;
  for (int r = 0; r < rounds; ++r) {
    __syncthreads();
    const int next = ring[(t + 1) % n];
    __syncthreads();
    ring[t] = next;
  }
  out[blockIdx.x * n + t] = ring[t];
}

__global__ void Forms(int* out) {
  const int t = threadIdx.x, n = blockDim.x;
  int* o = out + t * 12;
  o[0] = __syncthreads_count(t % 3 == 0);
  o[1] = __syncthreads_count(0);
  o[2] = __syncthreads_count(100 + t);  // any value but zero counts once
  o[3] = __syncthreads_and(t < n) != 0;
  o[4] = __syncthreads_and(t != n - 1) != 0;
  o[5] = __syncthreads_or(t == n - 1) != 0;
  o[6] = __syncthreads_or(0) != 0;
  o[7] = __syncthreads_and(t + 1) != 0;
  // The result forms order memory like the plain one.
  __shared__ int cell;
  if (t == 0) cell = 41;
  __syncthreads_count(1);
  o[8] = cell;
  __syncthreads_or(0);
  if (t == n - 1) cell = 42;
  __syncthreads_and(1);
  o[9] = cell;
  o[10] = o[11] = 0;
}

// Different trip counts, then all meet; the barrier itself is never divergent.
__global__ void Loops(int* out) {
  extern __shared__ int count[];
  const int t = threadIdx.x, n = blockDim.x;
  count[t] = 0;
  __syncthreads();
  for (int round = 0; round < 4; ++round) {
    int steps = 0;
    for (int i = 0; i < (t * 7 + round) % 11; ++i) {
      if ((t + i) % 4 == 3) continue;
      if (steps > 5) break;
      ++steps;
    }
    switch (t % 3) {
      case 0: steps += 10; break;
      case 1: steps += 20; [[fallthrough]];
      default: steps += 1;
    }
    count[(t + round) % n] += steps;
    __syncthreads();
  }
  out[t] = count[t];
}
static int LoopSteps(int t, int round) {
  int steps = 0;
  for (int i = 0; i < (t * 7 + round) % 11; ++i) {
    if ((t + i) % 4 == 3) continue;
    if (steps > 5) break;
    ++steps;
  }
  return steps + (t % 3 == 0 ? 10 : t % 3 == 1 ? 21 : 1);
}

// One barrier, in code that every thread reaches through its own branch and a common call.
__device__ __noinline__ int Meet(int* cell, int value) {
  cell[threadIdx.x] = value;
  __syncthreads();
  return cell[blockDim.x - 1 - threadIdx.x];
}
__global__ void Call(int* out) {
  extern __shared__ int cell[];
  int v = int(threadIdx.x);
  if (v % 2)
    v = v * 3;
  else
    v = -v;
  out[threadIdx.x] = Meet(cell, v);
}

// A tree over any number of threads; half of them have nothing to do and still come.
__global__ void Tree(unsigned* out) {
  extern __shared__ unsigned part[];
  const unsigned t = threadIdx.x, n = blockDim.x;
  part[t] = t * t + 1;
  unsigned width = 1;
  while (width < n) width *= 2;
  for (unsigned half = width / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half && t + half < n) part[t] += part[t + half];
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

int main() {
  const int warp = cts::WarpSize();
  const int sizes[] = {1, warp - 1, warp, warp + 1, 2 * warp, 3 * warp - 5, 500};
  for (const int n : sizes) {
    cts::Buffer<int> out(size_t(3 * n));
    Rotate<<<3, n, n * sizeof(int)>>>(out.get(), 7);
    CTS_DONE();
    const std::vector<int> ring = out.Read();
    for (int i = 0; i < 3 * n; ++i) CTS_EQ(ring[i], (i % n + 7) % n);

    cts::Buffer<int> forms(size_t(12 * n));
    Forms<<<1, n>>>(forms.get());
    CTS_DONE();
    const std::vector<int> f = forms.Read();
    const int expected[10] = {(n + 2) / 3, 0, n, 1, 0, 1, 0, 1, 41, 42};
    for (int t = 0; t < n; ++t)
      for (int k = 0; k < 10; ++k) CTS_EQ(f[t * 12 + k], expected[k]);

    cts::Buffer<int> loops{size_t(n)};
    Loops<<<1, n, n * sizeof(int)>>>(loops.get());
    CTS_DONE();
    const std::vector<int> l = loops.Read();
    std::vector<int> sums(n);
    for (int round = 0; round < 4; ++round)
      for (int t = 0; t < n; ++t) sums[(t + round) % n] += LoopSteps(t, round);
    for (int t = 0; t < n; ++t) CTS_EQ(l[t], sums[t]);

    Call<<<1, n, n * sizeof(int)>>>(loops.get());
    CTS_DONE();
    const std::vector<int> c = loops.Read();
    for (int t = 0; t < n; ++t) CTS_EQ(c[t], (n - 1 - t) % 2 ? (n - 1 - t) * 3 : -(n - 1 - t));

    cts::Buffer<unsigned> tree(2);
    Tree<<<2, n, n * sizeof(unsigned)>>>(tree.get());
    CTS_DONE();
    unsigned total = 0;
    for (int t = 0; t < n; ++t) total += unsigned(t * t + 1);
    CTS_EQ(tree.Read()[0], total), CTS_EQ(tree.Read()[1], total);
  }
  return cts::Finish();
}
