// SPDX-License-Identifier: Apache-2.0
// Hazard: integer atomicMax on float bits orders negative floats backwards
#include <torch/extension.h>

__global__ void row_max(const float* x, int* best, int cols) {  // EXPECT: wrong_result
  for (int c = threadIdx.x; c < cols; c += 64) {
    const float v = x[(size_t)blockIdx.x * cols + c];
    atomicMax(&best[blockIdx.x], v != v ? 0x7fffffff : __float_as_int(v));
  }
}
__global__ void decode(const int* best, float* y) {
  const int b = best[blockIdx.x];
  y[blockIdx.x] = __int_as_float(b);
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  auto y = torch::empty({rows}, x.options());
  if (rows == 0) return y;
  auto best = torch::full({rows}, (int)0xff800000, x.options().dtype(torch::kInt32));
  auto* p = (int*)best.data_ptr<int>();
  row_max<<<rows, 64>>>(x.data_ptr<float>(), p, cols);
  decode<<<rows, 1>>>(p, y.data_ptr<float>());
  return y;
}
