// SPDX-License-Identifier: Apache-2.0
// RMS norm with a warp per row; the butterfly leaves the total in every lane, so nothing is
// broadcast.
// kuafu: entry=rms_norm args=x,weight,eps
#include <cuda_runtime.h>
#include <torch/extension.h>

#define FULL_MASK 0xffffffffu

constexpr int kThreads = 128;
constexpr int64_t kMaxBlocks = 2048;

__global__ void rms_norm_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                float* __restrict__ y, int64_t rows, int64_t dim, float eps) {
  const int lane = threadIdx.x % warpSize;
  const int warps_per_block = blockDim.x / warpSize;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * warps_per_block;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * warps_per_block + threadIdx.x / warpSize;
       row < rows; row += warps) {
    const float* in = x + row * dim;
    float squares = 0.0f;
    for (int64_t i = lane; i < dim; i += warpSize) squares = fmaf(in[i], in[i], squares);
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
      squares += __shfl_xor_sync(FULL_MASK, squares, offset);
    }
    const float scale = rsqrtf(squares / static_cast<float>(dim) + eps);
    for (int64_t i = lane; i < dim; i += warpSize) y[row * dim + i] = in[i] * scale * weight[i];
  }
}

torch::Tensor rms_norm(torch::Tensor x, torch::Tensor weight, double eps) {
  TORCH_CHECK(x.dim() == 2, "x must be [rows, dim]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  TORCH_CHECK(weight.numel() == x.size(1), "weight must be [dim]");
  x = x.contiguous();
  weight = weight.contiguous();
  torch::Tensor y = torch::empty_like(x);
  if (x.numel() == 0) return y;
  const int64_t wanted = (x.size(0) + 3) / 4;
  const unsigned blocks = static_cast<unsigned>(wanted < kMaxBlocks ? wanted : kMaxBlocks);
  rms_norm_kernel<<<blocks, kThreads>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                        y.data_ptr<float>(), x.size(0), x.size(1),
                                        static_cast<float>(eps));
  return y;
}
