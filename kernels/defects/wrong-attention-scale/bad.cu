// SPDX-License-Identifier: Apache-2.0
// Hazard: scores are not divided by the root of the width
#include <torch/extension.h>

__global__ void attention(const float* q, const float* k, const float* v, float* y,  // EXPECT: wrong_result
                          int n, int m, int d) {
  const int r = blockIdx.x;
  extern __shared__ float s[];
  if (threadIdx.x == 0) {
    float top = -INFINITY, sum = 0.f;
    for (int j = 0; j < m; ++j) {
      float dot = 0.f;
      for (int c = 0; c < d; ++c) dot += q[r * d + c] * k[j * d + c];
      s[j] = dot;
      if (s[j] > top || s[j] != s[j]) top = s[j];
    }
    for (int j = 0; j < m; ++j) sum += s[j] = expf(s[j] - top);
    for (int j = 0; j < m; ++j) s[j] /= sum;
  }
  __syncthreads();
  for (int c = threadIdx.x; c < d; c += 32) {
    float acc = 0.f;
    for (int j = 0; j < m; ++j) acc += s[j] * v[j * d + c];
    y[r * d + c] = acc;
  }
}

torch::Tensor forward(torch::Tensor q_in, torch::Tensor k_in, torch::Tensor v_in) {
  auto q = q_in.contiguous(), k = k_in.contiguous(), v = v_in.contiguous();
  const int n = (int)q.size(0), m = (int)k.size(0), d = (int)q.size(1);
  auto y = torch::empty({n, d}, q.options());
  if (n > 0)
    attention<<<n, 32, m * sizeof(float)>>>(q.data_ptr<float>(), k.data_ptr<float>(),
                                            v.data_ptr<float>(), y.data_ptr<float>(), n, m, d);
  return y;
}
