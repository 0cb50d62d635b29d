// SPDX-License-Identifier: Apache-2.0
// Hazard: every block waits for the last one, which is not resident while they wait (corrected twin)
#include <torch/extension.h>

__global__ void scale(const float* x, float* y, int* done, int n) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (threadIdx.x == 0) {
    const int turn = atomicAdd(done + 1, 1);
    if (turn == 0) atomicExch(done, 1);
    while (atomicAdd(done, 0) == 0) {
    }
  }
  __syncthreads();
  if (i < n) y[i] = 2.f * x[i] + 1.f;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto y = torch::empty_like(x);
  auto done = torch::zeros({2}, x.options().dtype(torch::kInt32));
  const int n = (int)x.numel();
  if (n > 0)
    scale<<<(n + 31) / 32, 32, 40000>>>(x.data_ptr<float>(), y.data_ptr<float>(),
                                        done.data_ptr<int>(), n);
  return y;
}
