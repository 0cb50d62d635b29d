// SPDX-License-Identifier: Apache-2.0
// Hazard: second stream overwrites what the first may still be reading, without an event
#include <torch/extension.h>

__global__ void twice(const float* x, float* t, int first, int last) {
  const int i = first + blockIdx.x * 256 + threadIdx.x;
  if (i < last) t[i] = 2.f * x[i];
}
__global__ void plus_one(const float* t, float* y, int first, int last) {
  const int i = first + blockIdx.x * 256 + threadIdx.x;
  if (i < last) y[i] = t[i] + 1.f;
}
__global__ void clear(float* t, int n) {  // EXPECT: stream_order
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) t[i] = 0.f;
}

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto t = torch::empty_like(x), y = torch::empty_like(x);
  const int n = (int)x.numel(), half = n / 2, blocks = (n + 255) / 256;
  if (n == 0) return y;
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaEvent_t done;
  cudaEventCreate(&done);
  // Each stream reads and writes a half of its own.
  twice<<<blocks, 256, 0, a>>>(x.data_ptr<float>(), t.data_ptr<float>(), 0, half);
  twice<<<blocks, 256, 0, b>>>(x.data_ptr<float>(), t.data_ptr<float>(), half, n);
  cudaDeviceSynchronize();
  plus_one<<<blocks, 256, 0, b>>>(t.data_ptr<float>(), y.data_ptr<float>(), half, n);
  plus_one<<<blocks, 256, 0, a>>>(t.data_ptr<float>(), y.data_ptr<float>(), 0, half);
  clear<<<blocks, 256, 0, b>>>(t.data_ptr<float>(), n);
  cudaDeviceSynchronize();
  cudaEventDestroy(done);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
  return y;
}
