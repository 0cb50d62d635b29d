// SPDX-License-Identifier: Apache-2.0
// Hazard: per-block list overflows only when every thread appends
#include <torch/extension.h>

__global__ void count_positive(const float* x, int* y, int n) {
  __shared__ int list[255];
  __shared__ int used;
  const int t = threadIdx.x, i = blockIdx.x * 256 + t;
  if (t == 0) used = 0;
  __syncthreads();
  if (i < n) list[atomicAdd(&used, 1)] = x[i] > 0.f;  // EXPECT: oob
  __syncthreads();
  if (t == 0) {
    int sum = 0;
    for (int k = 0; k < used; ++k) sum += list[k];  // EXPECT-ALSO: oob
    atomicAdd(y, sum);
  }
}
__global__ void widen(const int* a, long long* b) { *b = *a; }

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto count = torch::zeros({1}, x.options().dtype(torch::kInt32));
  auto y = torch::empty({}, x.options().dtype(torch::kInt64));
  const int n = (int)x.numel();
  if (n > 0)
    count_positive<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), count.data_ptr<int>(), n);
  widen<<<1, 1>>>(count.data_ptr<int>(), (long long*)y.data_ptr<int64_t>());
  return y;
}
