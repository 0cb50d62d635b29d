// SPDX-License-Identifier: Apache-2.0
// Maximum pooling, one thread per output; the window is clipped to the image instead of padded.
// kuafu: entry=max_pool args=x,kernel_size,stride,padding
#include <musa_runtime.h>
#include <torch/extension.h>

#include <cmath>

constexpr int kThreads = 256;

__global__ void max_pool_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t count,
                                int64_t height, int64_t width, int64_t rows, int64_t columns,
                                int64_t size, int64_t stride, int64_t padding) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) {
    const int64_t plane = i / (rows * columns);
    const int64_t top = i / columns % rows * stride - padding;
    const int64_t left = i % columns * stride - padding;
    const int64_t h_end = top + size < height ? top + size : height;
    const int64_t w_end = left + size < width ? left + size : width;
    float best = -INFINITY;
    for (int64_t h = top < 0 ? 0 : top; h < h_end; ++h) {
      for (int64_t w = left < 0 ? 0 : left; w < w_end; ++w) {
        const float value = x[(plane * height + h) * width + w];
        if (value > best || value != value) best = value;  // a NaN wins, as in the reference
      }
    }
    y[i] = best;
  }
}

torch::Tensor max_pool(torch::Tensor x, int64_t kernel_size, int64_t stride, int64_t padding) {
  TORCH_CHECK(x.dim() == 4, "x must be [batch, channels, height, width]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  TORCH_CHECK(kernel_size > 0 && stride > 0 && padding >= 0, "window parameters out of range");
  x = x.contiguous();
  const int64_t rows = (x.size(2) + 2 * padding - kernel_size) / stride + 1;
  const int64_t columns = (x.size(3) + 2 * padding - kernel_size) / stride + 1;
  torch::Tensor y = torch::empty({x.size(0), x.size(1), rows, columns}, x.options());
  const int64_t count = y.numel();
  if (count == 0) return y;
  const unsigned blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  max_pool_kernel<<<blocks, kThreads>>>(x.data_ptr<float>(), y.data_ptr<float>(), count, x.size(2),
                                        x.size(3), rows, columns, kernel_size, stride, padding);
  return y;
}
