// SPDX-License-Identifier: Apache-2.0
// Row argmax by a warp per row; (value, index) pairs travel together through the butterfly and ties
// go to the smaller index, so the result does not depend on the order of the merges.
// kuafu: entry=argmax args=x
#include <musa_runtime.h>
#include <torch/extension.h>

#include <cmath>

#define FULL_MASK 0xffffffffu

constexpr int kThreads = 128;

__global__ void argmax_kernel(const float* __restrict__ x, int64_t* __restrict__ out, int64_t rows,
                              int dim) {
  const int lane = threadIdx.x % warpSize;
  const int warps_per_block = blockDim.x / warpSize;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * warps_per_block;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * warps_per_block + threadIdx.x / warpSize;
       row < rows; row += warps) {
    float best = -INFINITY;
    int index = lane < dim ? lane : dim - 1;  // a row of -inf still has a valid answer
    for (int i = lane; i < dim; i += warpSize) {
      const float value = x[row * dim + i];
      if (value > best) {
        best = value;
        index = i;
      }
    }
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
      const float other = __shfl_xor_sync(FULL_MASK, best, offset);
      const int other_index = __shfl_xor_sync(FULL_MASK, index, offset);
      if (other > best || (other == best && other_index < index)) {
        best = other;
        index = other_index;
      }
    }
    if (lane == 0) out[row] = index;
  }
}

torch::Tensor argmax(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 2, "x must be [rows, dim]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  TORCH_CHECK(x.size(1) > 0 && x.size(1) <= 0x3fffffff, "the row length is out of range");
  x = x.contiguous();
  const int64_t rows = x.size(0);
  torch::Tensor out = torch::empty({rows}, x.options().dtype(torch::kInt64));
  if (rows == 0) return out;
  const int64_t wanted = (rows + 3) / 4;
  const unsigned blocks = static_cast<unsigned>(wanted < 1024 ? wanted : 1024);
  argmax_kernel<<<blocks, kThreads>>>(x.data_ptr<float>(), out.data_ptr<int64_t>(), rows,
                                      static_cast<int>(x.size(1)));
  return out;
}
