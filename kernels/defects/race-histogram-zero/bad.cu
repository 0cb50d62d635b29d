// SPDX-License-Identifier: Apache-2.0
// Hazard: shared counters zeroed by some threads, no barrier before use
#include <torch/extension.h>

__global__ void histogram(const long long* x, int* y, int n) {
  __shared__ int count[64];
  const int t = threadIdx.x;
  if (t < 64) count[t] = 0;  // EXPECT: race
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) {
    const long long bin = ((x[i] % 64) + 64) % 64;
    atomicAdd(&count[bin], 1);  // EXPECT-ALSO: race
  }
  __syncthreads();
  if (t < 64) atomicAdd(&y[t], count[t]);
}

__global__ void widen(const int* a, long long* b) { b[threadIdx.x] = a[threadIdx.x]; }

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto count = torch::zeros({64}, x.options().dtype(torch::kInt32));
  auto y = torch::empty({64}, x.options());
  const int n = (int)x.numel();
  histogram<<<4, 256>>>((const long long*)x.data_ptr<int64_t>(), count.data_ptr<int>(), n);
  widen<<<1, 64>>>(count.data_ptr<int>(), (long long*)y.data_ptr<int64_t>());
  return y;
}
