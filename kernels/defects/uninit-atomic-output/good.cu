// SPDX-License-Identifier: Apache-2.0
// Hazard: atomicAdd into memory from cudaMalloc that was never cleared (corrected twin)
#include <torch/extension.h>

__global__ void col_sum(const float* x, float* sum, int rows, int cols) {
  const int c = blockIdx.x * 64 + threadIdx.x;
  if (c >= cols) return;
  for (int r = 0; r < rows; ++r)
    atomicAdd(&sum[c], x[(size_t)r * cols + c]);
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  const int rows = (int)x.size(0), cols = (int)x.size(1);
  auto y = torch::empty({cols}, x.options());
  if (cols == 0) return y;
  float* sum = nullptr;
  cudaMalloc((void**)&sum, cols * sizeof(float));
  cudaMemset(sum, 0, cols * sizeof(float));
  col_sum<<<(cols + 63) / 64, 64>>>(x.data_ptr<float>(), sum, rows, cols);
  cudaMemcpy(y.data_ptr<float>(), sum, cols * sizeof(float), cudaMemcpyDeviceToDevice);
  cudaFree(sum);
  return y;
}
