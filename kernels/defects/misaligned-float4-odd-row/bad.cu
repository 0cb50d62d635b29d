// SPDX-License-Identifier: Apache-2.0
// Hazard: float4 row loads although the row length is odd
#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int cols) {
  const float* a = x + (size_t)blockIdx.x * cols;
  float* b = y + (size_t)blockIdx.x * cols;
  const int quads = cols / 4;
  for (int q = threadIdx.x; q < quads; q += 32) {
    const float4 v = ((const float4*)a)[q];  // EXPECT: misaligned
    const float2 lo = {2.f * v.x + 1.f, 2.f * v.y + 1.f}, hi = {2.f * v.z + 1.f, 2.f * v.w + 1.f};
    ((float4*)b)[q] = make_float4(lo.x, lo.y, hi.x, hi.y);  // EXPECT-ALSO: misaligned
  }
  for (int c = quads * 4 + threadIdx.x; c < cols; c += 32) b[c] = 2.f * a[c] + 1.f;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  if (rows > 0) scale<<<rows, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
  return y;
}
