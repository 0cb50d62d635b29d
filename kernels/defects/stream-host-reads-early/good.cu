// SPDX-License-Identifier: Apache-2.0
// Hazard: host uses the target of an asynchronous copy before synchronising (corrected twin)
#include <torch/extension.h>

__global__ void sum(const float* x, float* y, int n) {
  float acc = 0.f;
  for (int i = 0; i < n; ++i) acc += x[i];
  *y = acc;
}
__global__ void store(float* y, float v) { *y = v; }

torch::Tensor forward(torch::Tensor x_in) {
  auto x = x_in.contiguous();
  auto t = torch::empty({1}, x.options()), y = torch::empty({}, x.options());
  cudaStream_t a;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  float* host = nullptr;
  cudaMallocHost((void**)&host, sizeof(float));
  *host = -1.f;
  sum<<<1, 1, 0, a>>>(x.data_ptr<float>(), t.data_ptr<float>(), (int)x.numel());
  cudaMemcpyAsync(host, t.data_ptr<float>(), sizeof(float), cudaMemcpyDeviceToHost, a);
  cudaStreamSynchronize(a);
  store<<<1, 1, 0, a>>>(y.data_ptr<float>(), *host);
  cudaStreamSynchronize(a);
  cudaFreeHost(host);
  cudaStreamDestroy(a);
  return y;
}
