// SPDX-License-Identifier: Apache-2.0
// Row means, style 2 of 5: shuffles inside each warp, one shared slot per warp, then the first
// warp. Nothing assumes 32 lanes: lane, warp and offsets come from warpSize.
// kuafu: entry=row_mean args=x
#include <musa_runtime.h>
#include <torch/extension.h>

#define FULL_MASK 0xffffffffu  // all lanes, at every warp width

constexpr int kThreads = 256;
constexpr int kMaxWarps = kThreads / 32;  // no device has a narrower warp

__device__ float warp_sum(float value) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) {
    value += __shfl_down_sync(FULL_MASK, value, offset);
  }
  return value;  // complete in lane 0
}

__global__ void row_mean_kernel(const float* __restrict__ x, float* __restrict__ out, int64_t dim) {
  __shared__ float warp_total[kMaxWarps];
  const int lane = threadIdx.x % warpSize;
  const int warp = threadIdx.x / warpSize;
  const int warps = blockDim.x / warpSize;
  const float* row = x + blockIdx.x * dim;

  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < dim; i += blockDim.x) sum += row[i];
  sum = warp_sum(sum);
  if (lane == 0) warp_total[warp] = sum;
  __syncthreads();

  if (warp == 0) {  // a whole warp takes this branch, so the full mask stays true
    sum = lane < warps ? warp_total[lane] : 0.0f;
    sum = warp_sum(sum);
    if (lane == 0) out[blockIdx.x] = sum / static_cast<float>(dim);
  }
}

torch::Tensor row_mean(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 2, "x must be [rows, dim]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  const int64_t rows = x.size(0);
  torch::Tensor out = torch::empty({rows}, x.options());
  if (rows == 0) return out;
  row_mean_kernel<<<static_cast<unsigned>(rows), kThreads>>>(x.data_ptr<float>(),
                                                             out.data_ptr<float>(), x.size(1));
  return out;
}
