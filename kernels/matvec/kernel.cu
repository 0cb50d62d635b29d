// SPDX-License-Identifier: Apache-2.0
// Matrix-vector product plus bias, a warp per output: lanes walk a row of the weight together.
// kuafu: entry=matvec args=x,linear.weight,linear.bias
#include <cuda_runtime.h>
#include <torch/extension.h>

#define FULL_MASK 0xffffffffu

constexpr int kThreads = 128;

__global__ void matvec_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                              const float* __restrict__ bias, float* __restrict__ y, int64_t rows,
                              int64_t columns) {
  const int lane = threadIdx.x % warpSize;
  const int warps_per_block = blockDim.x / warpSize;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * warps_per_block;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * warps_per_block + threadIdx.x / warpSize;
       row < rows; row += warps) {
    float sum = 0.0f;
    for (int64_t i = lane; i < columns; i += warpSize) {
      sum = fmaf(weight[row * columns + i], x[i], sum);
    }
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
      sum += __shfl_down_sync(FULL_MASK, sum, offset);
    }
    if (lane == 0) y[row] = sum + bias[row];
  }
}

torch::Tensor matvec(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
  TORCH_CHECK(x.dim() == 1 && weight.dim() == 2 && weight.size(1) == x.size(0), "shapes: K, NxK");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  weight = weight.contiguous();
  bias = bias.contiguous();
  const int64_t rows = weight.size(0);
  torch::Tensor y = torch::empty({rows}, x.options());
  if (rows == 0) return y;
  const int64_t wanted = (rows + 3) / 4;
  const unsigned blocks = static_cast<unsigned>(wanted < 1024 ? wanted : 1024);
  matvec_kernel<<<blocks, kThreads>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                      bias.data_ptr<float>(), y.data_ptr<float>(), rows,
                                      weight.size(1));
  return y;
}
