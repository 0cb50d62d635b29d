// SPDX-License-Identifier: Apache-2.0
// Habits that stock headers trip over: alignas after __shared__, placement new, the C memory
// functions, attributes in any order, standard headers after ours.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <optional>
#include <variant>

struct Counter {
  int value;
  __device__ explicit Counter(int v) : value(v) {}
};
template <class T, int N>
struct alignas(sizeof(T) * N) Packed {
  T v[N];
};
static_assert(alignof(Packed<float, 4>) == 16 && sizeof(Packed<char, 8>) == 8, "");
struct alignas(16) Wide {
  float x;
};
static_assert(sizeof(Wide) == 16, "");

template <typename T>
static __global__ void __launch_bounds__(128) Habits(const T* __restrict__ in, T* out, int n) {
  __shared__ alignas(Counter) unsigned char raw[sizeof(Counter)];
  __shared__ alignas(16) T tile[32];
  extern __shared__ alignas(float4) unsigned char dynamic[];
  alignas(8) T local[2] = {in[0], in[1]};
  if (threadIdx.x == 0) new (raw) Counter(n);
  memset(&tile[threadIdx.x], 0, sizeof(T));
  __syncthreads();
  tile[threadIdx.x] += local[threadIdx.x & 1];
  T* mine = reinterpret_cast<T*>(dynamic) + threadIdx.x;
  std::memcpy(mine, &tile[threadIdx.x], sizeof(T));
  const float4 four = *reinterpret_cast<const float4*>(in);
  out[threadIdx.x] = *mine + reinterpret_cast<Counter*>(raw)->value + four.w;
  if (memcmp(mine, &tile[threadIdx.x], sizeof(T)) != 0) out[threadIdx.x] = -1;
}

int main() {
  const float in[4] = {1, 2, 3, 4};
  float *d_in, *d_out, out[32];
  cudaMalloc(&d_in, sizeof in);
  cudaMalloc(&d_out, sizeof out);
  cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice);
  Habits<float><<<1, 32, 32 * sizeof(float)>>>(d_in, d_out, 10);
  cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
  bool right = cudaGetLastError() == cudaSuccess;
  for (int i = 0; i < 32; ++i) right = right && out[i] == in[i & 1] + 10 + 4;
  return right ? 0 : 1;
}
