// SPDX-License-Identifier: Apache-2.0
// Hazard: grid y dimension above 65535
#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int cols) {  // EXPECT: launch_invalid
  for (int c = threadIdx.x; c < cols; c += 32) {
    const size_t i = (size_t)blockIdx.y * cols + c;
    y[i] = 2.f * x[i] + 1.f;
  }
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  const unsigned rows = (unsigned)x.size(0);
  if (rows > 0)
    scale<<<dim3(1, rows), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), (int)x.size(1));  // EXPECT-ALSO: launch_invalid
  return y;
}
