// SPDX-License-Identifier: Apache-2.0
// Hazard: full-mask ballot inside a divergent guard (corrected twin)
#include <torch/extension.h>

__global__ void count_positive(const float* x, int* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  unsigned mask = 0;
  mask = __ballot_sync(0xffffffffu, i < n && x[i] > 0.f);
  if (threadIdx.x % 32 == 0) atomicAdd(y, __popc(mask));
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
