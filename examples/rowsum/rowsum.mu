// SPDX-License-Identifier: Apache-2.0
// Row sums by shuffles that start from half of whatever the warp width is.
// kuafu: entry=row_sum args=x
#include <musa_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 256;

__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ out, int64_t dim) {
  __shared__ float warp_total[kThreads / 32];
  const int lane = threadIdx.x % warpSize;
  const int warp = threadIdx.x / warpSize;
  const float* row = x + blockIdx.x * dim;
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < dim; i += kThreads) sum += row[i];
  for (int offset = warpSize / 2; offset > 0; offset >>= 1) {
    sum += __shfl_down_sync(0xffffffffu, sum, offset);
  }
  if (lane == 0) warp_total[warp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.0f;
    for (int w = 0; w < kThreads / warpSize; ++w) total += warp_total[w];
    out[blockIdx.x] = total;
  }
}

torch::Tensor row_sum(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 2, "x must be [rows, dim]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  const int64_t rows = x.size(0);
  torch::Tensor out = torch::empty({rows}, x.options());
  if (rows == 0) return out;
  row_sum_kernel<<<static_cast<unsigned>(rows), kThreads>>>(x.data_ptr<float>(),
                                                            out.data_ptr<float>(), x.size(1));
  return out;
}
