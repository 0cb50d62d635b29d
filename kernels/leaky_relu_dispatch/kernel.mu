// SPDX-License-Identifier: Apache-2.0
// Leaky rectifier as a template over the element type, instantiated by the dispatch macro.
// kuafu: entry=leaky_relu args=x,slope
#include <musa_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 256;

template <typename scalar_t>
__global__ void leaky_relu_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ y,
                                  scalar_t slope, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] > scalar_t(0) ? x[i] : slope * x[i];
}

torch::Tensor leaky_relu(torch::Tensor x, double slope) {
  x = x.contiguous();
  torch::Tensor y = torch::empty_like(x);
  const int64_t count = x.numel();
  if (count == 0) return y;
  const unsigned blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "leaky_relu", [&] {
    leaky_relu_kernel<scalar_t><<<blocks, kThreads>>>(
        x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), static_cast<scalar_t>(slope), count);
  });
  return y;
}
