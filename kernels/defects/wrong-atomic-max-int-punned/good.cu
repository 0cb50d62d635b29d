// SPDX-License-Identifier: Apache-2.0
// Hazard: integer atomicMax on float bits orders negative floats backwards (corrected twin)
#include <torch/extension.h>

__global__ void row_max(const float* x, unsigned* best, int cols) {
  for (int c = threadIdx.x; c < cols; c += 64) {
    const float v = x[(size_t)blockIdx.x * cols + c];
    const unsigned b = __float_as_uint(v);
    const unsigned key = v != v ? ~0u : b >> 31 ? ~b : b | 0x80000000u;
    atomicMax(&best[blockIdx.x], key);
  }
}
__global__ void decode(const unsigned* best, float* y) {
  const unsigned b = best[blockIdx.x];
  y[blockIdx.x] = __uint_as_float(b >> 31 ? b & 0x7fffffffu : ~b);
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  auto y = torch::empty({rows}, x.options());
  if (rows == 0) return y;
  auto best = torch::full({rows}, 0, x.options().dtype(torch::kInt32));
  auto* p = (unsigned*)best.data_ptr<int>();
  row_max<<<rows, 64>>>(x.data_ptr<float>(), p, cols);
  decode<<<rows, 1>>>(p, y.data_ptr<float>());
  return y;
}
