// SPDX-License-Identifier: Apache-2.0
// Row sums of half precision with a float accumulator: adding in half would lose whole elements as
// soon as the sum passes 2048.
// kuafu: entry=row_sum args=x
#include <musa_fp16.h>
#include <musa_runtime.h>
#include <torch/extension.h>

#define FULL_MASK 0xffffffffu

constexpr int kThreads = 128;

__global__ void row_sum_kernel(const __half* __restrict__ x, __half* __restrict__ out, int64_t rows,
                               int64_t dim) {
  const int lane = threadIdx.x % warpSize;
  const int warps_per_block = blockDim.x / warpSize;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * warps_per_block;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * warps_per_block + threadIdx.x / warpSize;
       row < rows; row += warps) {
    float sum = 0.0f;
    for (int64_t i = lane; i < dim; i += warpSize) sum += __half2float(x[row * dim + i]);
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
      sum += __shfl_down_sync(FULL_MASK, sum, offset);
    }
    if (lane == 0) out[row] = __float2half(sum);
  }
}

torch::Tensor row_sum(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 2, "x must be [rows, dim]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat16, "x must be float16");
  x = x.contiguous();
  const int64_t rows = x.size(0);
  torch::Tensor out = torch::empty({rows}, x.options());
  if (rows == 0) return out;
  const int64_t wanted = (rows + 3) / 4;
  const unsigned blocks = static_cast<unsigned>(wanted < 1024 ? wanted : 1024);
  row_sum_kernel<<<blocks, kThreads>>>(reinterpret_cast<const __half*>(x.data_ptr<at::Half>()),
                                       reinterpret_cast<__half*>(out.data_ptr<at::Half>()), rows,
                                       x.size(1));
  return out;
}
