// SPDX-License-Identifier: Apache-2.0
// Hazard: popcount of a 32-bit ballot taken for the count of a warp
#include <torch/extension.h>

__global__ void count_positive(const float* x, int* y, int n) {  // EXPECT: warp_width
  const int i = blockIdx.x * 256 + threadIdx.x;
  const bool hit = i < n && x[i] > 0.f;
  const int count = __popc(__ballot_sync(0xffffffffu, hit));
  if (threadIdx.x % warpSize == 0) atomicAdd(y, count);
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
