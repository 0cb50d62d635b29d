// SPDX-License-Identifier: Apache-2.0
// FIR filter with the coefficients in constant memory, where a warp that reads one address gets it
// in one transaction. They are copied device to device, on the stream of the launch that needs
// them.
// kuafu: entry=fir args=x,c
#include <cuda_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 128;
constexpr int64_t kMaxTaps = 64;

__constant__ float coefficients[kMaxTaps];

__global__ void fir_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t count,
                           int64_t length, int taps) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) {
    const int64_t t = i % length;
    float sum = 0.0f;
    for (int k = 0; k < taps && k <= t; ++k) sum = fmaf(coefficients[k], x[i - k], sum);
    y[i] = sum;
  }
}

torch::Tensor fir(torch::Tensor x, torch::Tensor c) {
  TORCH_CHECK(x.dim() == 2 && c.dim() == 1, "x must be [rows, length], c [taps]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  TORCH_CHECK(c.numel() >= 1 && c.numel() <= kMaxTaps, "taps must be between 1 and 64");
  x = x.contiguous();
  c = c.contiguous();
  torch::Tensor y = torch::empty_like(x);
  const int64_t count = x.numel();
  if (count == 0) return y;
  cudaMemcpyToSymbol(coefficients, c.data_ptr<float>(), c.numel() * sizeof(float), 0,
                     cudaMemcpyDeviceToDevice);
  fir_kernel<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads>>>(
      x.data_ptr<float>(), y.data_ptr<float>(), count, x.size(1), static_cast<int>(c.numel()));
  return y;
}
