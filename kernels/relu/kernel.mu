// SPDX-License-Identifier: Apache-2.0
// Rectified linear unit: one thread per element, the simplest complete candidate.
// kuafu: entry=relu args=x
#include <musa_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 256;

__global__ void relu_kernel(const float* x, float* y, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) {
    const float value = x[i];
    y[i] = value < 0.0f ? 0.0f : value;  // this way round a NaN stays a NaN, as in the reference
  }
}

torch::Tensor relu(torch::Tensor x) {
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  torch::Tensor y = torch::empty_like(x);
  const int64_t count = x.numel();
  if (count == 0) return y;  // a grid of zero blocks is an invalid launch
  const unsigned blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  relu_kernel<<<blocks, kThreads>>>(x.data_ptr<float>(), y.data_ptr<float>(), count);
  return y;
}
