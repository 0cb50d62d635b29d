// SPDX-License-Identifier: Apache-2.0
// Average pooling with a 2D block over the output plane and the planes on grid.z.
// kuafu: entry=avg_pool args=x,kernel_size
#include <musa_runtime.h>
#include <torch/extension.h>

constexpr int kSide = 16;

__global__ void avg_pool_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t planes,
                                int64_t height, int64_t width, int64_t rows, int64_t columns,
                                int64_t size) {
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kSide + threadIdx.x;
  const int64_t row = static_cast<int64_t>(blockIdx.y) * kSide + threadIdx.y;
  if (row < rows && column < columns) {
    for (int64_t plane = blockIdx.z; plane < planes; plane += gridDim.z) {
      const float* window = x + (plane * height + row * size) * width + column * size;
      float sum = 0.0f;
      for (int64_t h = 0; h < size; ++h) {
        for (int64_t w = 0; w < size; ++w) sum += window[h * width + w];
      }
      y[(plane * rows + row) * columns + column] = sum / static_cast<float>(size * size);
    }
  }
}

torch::Tensor avg_pool(torch::Tensor x, int64_t kernel_size) {
  TORCH_CHECK(x.dim() == 4, "x must be [batch, channels, height, width]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  TORCH_CHECK(kernel_size > 0, "kernel_size must be positive");
  TORCH_CHECK(x.size(2) / kernel_size <= 65535 * kSide, "height is beyond the limit of grid.y");
  x = x.contiguous();
  const int64_t rows = x.size(2) / kernel_size;  // an incomplete window is dropped
  const int64_t columns = x.size(3) / kernel_size;
  const int64_t planes = x.size(0) * x.size(1);
  torch::Tensor y = torch::empty({x.size(0), x.size(1), rows, columns}, x.options());
  if (y.numel() == 0) return y;
  const dim3 grid(static_cast<unsigned>((columns + kSide - 1) / kSide),
                  static_cast<unsigned>((rows + kSide - 1) / kSide),
                  static_cast<unsigned>(planes < 65535 ? planes : 65535));
  avg_pool_kernel<<<grid, dim3(kSide, kSide)>>>(x.data_ptr<float>(), y.data_ptr<float>(), planes,
                                                x.size(2), x.size(3), rows, columns, kernel_size);
  return y;
}
