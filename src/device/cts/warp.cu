// SPDX-License-Identifier: Apache-2.0
// Warp functions at the device's own width: shuffles of every kind, type and width, votes, match,
// reduce, __syncwarp, masks that name part of a warp. Semantics: CUDA programming guide, "Warp
// Shuffle Functions" and "Warp Vote Functions". The mask of all lanes is written 0xffffffff: MUSA
// sources pass it on warps of 128 too and mean the whole warp (vllm_musa, torch_musa), of which no
// specification is public; a mask that names fewer lanes than 32 means those lanes everywhere.
#include "check.h"

#define FULL 0xffffffffu

struct Rgb {
  float r, g;
};

template <class T>
__device__ T Value(int lane) {
  return T(lane * 3 + 1);
}

// Four kinds of shuffle at one width, each with every operand: what every lane got, 64 bits wide.
constexpr int kOperands = 8;
struct Operands {
  int v[kOperands];
};
template <class T>
__global__ void Shuffles(long long* out, int width, Operands operands) {
  const int lane = int(threadIdx.x) % warpSize;
  const T v = Value<T>(lane);
  for (int n = 0; n < kOperands; ++n) {
    const int operand = operands.v[n];
    long long* o = out + (n * blockDim.x + threadIdx.x) * 4;
    o[0] = (long long)__shfl_sync(FULL, v, operand, width);
    o[1] = (long long)__shfl_up_sync(FULL, v, unsigned(operand), width);
    o[2] = (long long)__shfl_down_sync(FULL, v, unsigned(operand), width);
    o[3] = (long long)__shfl_xor_sync(FULL, v, operand, width);
  }
}
template <class T>
static void CheckShuffles(int warp) {
  const int threads = 2 * warp;
  cts::Buffer<long long> out(size_t(kOperands * threads * 4));
  for (int width = 1; width <= warp; width *= 2) {
    const Operands operands = {{0, 1, 2, 3, 5, width - 1, warp / 2 + 1, warp - 1}};
    Shuffles<T><<<1, threads>>>(out.get(), width, operands);
    CTS_OK(cudaGetLastError());
    const std::vector<long long> got = out.Read();
    for (int i = 0; i < kOperands * threads; ++i) {
      const int operand = operands.v[i / threads], lane = i % warp, first = lane / width * width;
      const int to_idx = first + operand % width;
      const int to_up = lane - operand >= first ? lane - operand : lane;
      const int to_down = lane + operand < first + width ? lane + operand : lane;
      // A lane of an earlier segment may be read, of a later one not.
      const int to_xor = (lane ^ operand) < first + width ? lane ^ operand : lane;
      const int to[4] = {to_idx, to_up, to_down, to_xor};
      for (int k = 0; k < 4; ++k) CTS_EQ(got[i * 4 + k], (long long)(T(to[k] * 3 + 1)));
    }
  }
}

// A source lane of its own for each lane.
__global__ void Gather(int* out) {
  const int lane = int(threadIdx.x) % warpSize;
  out[threadIdx.x] = __shfl_sync(FULL, lane * 10, (lane * 5 + 3) % warpSize);
}

__global__ void Votes(int* out) {
  const int t = threadIdx.x, lane = t % warpSize, group = t / warpSize;
  int* o = out + t * 10;
  o[0] = __any_sync(FULL, lane == 3) != 0;
  o[1] = __any_sync(FULL, 0) != 0;
  o[2] = __all_sync(FULL, lane >= 0) != 0;
  o[3] = __all_sync(FULL, lane != warpSize - 1) != 0;
  o[4] = __any_sync(FULL, group == 1) != 0;  // a vote is of one warp
  o[5] = int(__ballot_sync(FULL, lane % 3 == 0) & 0xffffffffu);
  o[6] = int(__ballot_sync(FULL, 1) & 0xffffffffu);
  o[7] = int(__activemask() & 0xffffffffu);
  o[8] = __popc(unsigned(__ballot_sync(FULL, lane < 7)));
  o[9] = __all_sync(FULL, 5) != 0;
}

// Lanes below 16 take one way, those from 16 to 23 another, each with its own mask; then all meet.
__global__ void Parts(int* out) {
  const int lane = threadIdx.x;
  int* o = out + lane * 4;
  o[0] = o[1] = o[2] = -1;
  if (lane < 16) {
    o[0] = __shfl_xor_sync(0xffffu, lane, 5);
    o[1] = int(__ballot_sync(0xffffu, lane & 1));
    __syncwarp(0xffffu);
    o[2] = __all_sync(0xffffu, lane < 16);
  } else if (lane < 24) {
    o[0] = __shfl_down_sync(0xff0000u, lane, 1, 8);
    o[1] = int(__ballot_sync(0xff0000u, lane & 1));
    o[2] = __any_sync(0xff0000u, lane < 16);
  }
  __syncwarp();
  o[3] = __shfl_sync(FULL, lane, 9);
}

__global__ void Matches(unsigned* out, int* same) {
  const int lane = threadIdx.x;
  out[lane] = unsigned(__match_any_sync(FULL, lane % 5));
  out[lane + 32] = unsigned(__match_any_sync(FULL, (unsigned long long)(lane / 8) << 40));
  int all = -1;
  out[lane + 64] = unsigned(__match_all_sync(FULL, 7, &all));
  same[lane] = all;
  out[lane + 96] = unsigned(__match_all_sync(FULL, lane, &all));
  same[lane + 32] = all;
  out[lane + 128] = unsigned(__match_any_sync(FULL, lane % 2 ? 1.5f : -0.0f));
}

// Shared memory written by one lane and read by another, ordered by __syncwarp alone.
__global__ void Ordered(int* out) {
  extern __shared__ int cell[];
  const int t = threadIdx.x, first = t / warpSize * warpSize;
  int last = t;
  for (int round = 0; round < 5; ++round) {
    cell[t] = last + round;
    __syncwarp();
    last = cell[first + (t + 1) % warpSize];
    __syncwarp();
  }
  out[t] = last;
}

// The active lanes in a branch are the ones that took it, wherever the hardware split them.
__global__ void Active(int* out) {
  const int lane = threadIdx.x;
  unsigned mask = 0;
  if (lane % 2) {
    mask = unsigned(__activemask());
    out[lane] = (mask >> lane & 1) && (mask & 0x55555555u) == 0;
  } else {
    mask = unsigned(__activemask());
    out[lane] = (mask >> lane & 1) && (mask & 0xaaaaaaaau) == 0;
  }
}

__global__ void Sum(double* out) {
  const int lane = int(threadIdx.x) % warpSize;
  double v = lane + 0.5;
  for (int offset = warpSize / 2; offset > 0; offset /= 2) v += __shfl_down_sync(FULL, v, offset);
  if (lane == 0) out[threadIdx.x / warpSize] = v;
  int scan = lane + 1;
  for (int offset = 1; offset < warpSize; offset *= 2) {
    const int before = __shfl_up_sync(FULL, scan, offset);
    if (lane >= offset) scan += before;
  }
  out[2 + threadIdx.x] = scan;
}

// NVIDIA has these since sm_80. The sources of MUSA name no first architecture.
#if defined(__MUSACC__) || !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__global__ void Reduces(unsigned* out) {
  const int lane = int(threadIdx.x) % warpSize;
  unsigned* o = out + threadIdx.x * 8;
  o[0] = __reduce_add_sync(FULL, unsigned(lane));
  o[1] = unsigned(__reduce_min_sync(FULL, lane - 10));
  o[2] = unsigned(__reduce_max_sync(FULL, lane - 1000));
  o[3] = __reduce_min_sync(FULL, unsigned(lane) - 1u);  // lane 0 is the largest
  o[4] = __reduce_max_sync(FULL, unsigned(lane) - 1u);
  o[5] = __reduce_and_sync(FULL, unsigned(lane) | 0xf00u);
  o[6] = __reduce_or_sync(FULL, 1u << (lane % 32));
  o[7] = __reduce_xor_sync(FULL, unsigned(lane) * 0x01010101u);
}
#else
__global__ void Reduces(unsigned*) {}
#endif

int main() {
  const int warp = cts::WarpSize();
  CTS_TRUE(warp >= 32 && (warp & (warp - 1)) == 0);
  CheckShuffles<int>(warp);
  CheckShuffles<long long>(warp);
  CheckShuffles<double>(warp);
  CheckShuffles<unsigned>(warp);
  CheckShuffles<float>(warp);

  cts::Buffer<int> gather(size_t(2 * warp));
  Gather<<<1, 2 * warp>>>(gather.get());
  CTS_DONE();
  for (int t = 0; t < 2 * warp; ++t) CTS_EQ(gather.Read()[t], (t % warp * 5 + 3) % warp * 10);

  cts::Buffer<int> votes(size_t(2 * warp * 10));
  Votes<<<1, 2 * warp>>>(votes.get());
  CTS_DONE();
  const std::vector<int> v = votes.Read();
  for (int t = 0; t < 2 * warp; ++t) {
    const int expected[10] = {1, 0, 1, 0, t / warp == 1, int(0x49249249u), -1, -1, 7, 1};
    for (int k = 0; k < 10; ++k) CTS_EQ(v[t * 10 + k], expected[k]);
  }

  cts::Buffer<int> parts(size_t(warp * 4));
  Parts<<<1, warp>>>(parts.get());
  CTS_DONE();
  const std::vector<int> p = parts.Read();
  for (int t = 0; t < warp; ++t) {
    CTS_EQ(p[t * 4], t < 16 ? (t ^ 5) : t < 23 ? t + 1 : t < 24 ? t : -1);
    CTS_EQ(p[t * 4 + 1], t < 16 ? 0xaaaa : t < 24 ? 0xaa0000 : -1);
    CTS_EQ(p[t * 4 + 2] != 0, t < 16 || t >= 24);
    CTS_EQ(p[t * 4 + 3], 9);
  }

  // Masks of match name at most 64 lanes, so this stays within the first 32.
  if (warp == 32) {
    cts::Buffer<unsigned> matches(160);
    cts::Buffer<int> same(64);
    Matches<<<1, 32>>>(matches.get(), same.get());
    CTS_DONE();
    const std::vector<unsigned> m = matches.Read();
    const std::vector<int> s = same.Read();
    for (int t = 0; t < 32; ++t) {
      unsigned five = 0;
      for (int k = 0; k < 32; ++k) five |= k % 5 == t % 5 ? 1u << k : 0u;
      CTS_EQ(m[t], five);
      CTS_EQ(m[t + 32], 0xffu << t / 8 * 8);
      CTS_EQ(m[t + 64], FULL), CTS_EQ(s[t], 1);
      CTS_EQ(m[t + 96], 0u), CTS_EQ(s[t + 32], 0);
      CTS_EQ(m[t + 128], t % 2 ? 0xaaaaaaaau : 0x55555555u);
    }
    cts::Buffer<int> active(32);
    Active<<<1, 32>>>(active.get());
    CTS_DONE();
    for (int t = 0; t < 32; ++t) CTS_EQ(active.Read()[t], 1);
  }

  cts::Buffer<int> ordered(size_t(2 * warp));
  Ordered<<<1, 2 * warp, 2 * warp * sizeof(int)>>>(ordered.get());
  CTS_DONE();
  for (int t = 0; t < 2 * warp; ++t)
    CTS_EQ(ordered.Read()[t], t / warp * warp + (t + 5) % warp + 10);

  cts::Buffer<double> sum(size_t(2 + 2 * warp));
  Sum<<<1, 2 * warp>>>(sum.get());
  CTS_DONE();
  const std::vector<double> sums = sum.Read();
  CTS_EQ(sums[0], warp * warp / 2.0), CTS_EQ(sums[1], warp * warp / 2.0);
  for (int t = 0; t < 2 * warp; ++t) CTS_EQ(sums[2 + t], (t % warp + 1) * (t % warp + 2) / 2.0);

  int major = 0;
  CTS_OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (warp != 32 || major >= 8) {
    cts::Buffer<unsigned> reduces(size_t(2 * warp * 8));
    Reduces<<<1, 2 * warp>>>(reduces.get());
    CTS_DONE();
    const std::vector<unsigned> r = reduces.Read();
    for (int t = 0; t < 2 * warp; ++t) {
      const unsigned w = unsigned(warp);
      const unsigned expected[8] = {w * (w - 1) / 2, unsigned(-10), w - 1001, 0, ~0u,
                                    0xf00u,          ~0u,           0};
      for (int k = 0; k < 8; ++k) CTS_EQ(r[t * 8 + k], expected[k]);
    }
  }
  return cts::Finish();
}
