// SPDX-License-Identifier: Apache-2.0
// Radix-2 FFT of rows in shared memory: bit-reversed load, then log2(N) butterfly stages. A length
// that is no power of two takes the plain transform, so every shape is served.
// kuafu: entry=fft args=real,imaginary
#include <musa_runtime.h>
#include <torch/extension.h>

#include <vector>

constexpr int kThreads = 128;
constexpr int64_t kMaxLength = 4096;  // 32 KiB of shared memory

__device__ int reverse_bits(int value, int bits) {
  int result = 0;
  for (int b = 0; b < bits; ++b) result |= ((value >> b) & 1) << (bits - 1 - b);
  return result;
}

__global__ void fft_kernel(const float* __restrict__ real, const float* __restrict__ imaginary,
                           float* __restrict__ out_real, float* __restrict__ out_imaginary, int n,
                           int bits) {
  extern __shared__ float2 line[];
  const int64_t base = static_cast<int64_t>(blockIdx.x) * n;
  for (int i = threadIdx.x; i < n; i += kThreads) {
    line[reverse_bits(i, bits)] = make_float2(real[base + i], imaginary[base + i]);
  }
  __syncthreads();
  for (int half = 1; half < n; half *= 2) {
    for (int pair = threadIdx.x; pair < n / 2; pair += kThreads) {
      const int k = pair % half;
      const int top = pair / half * 2 * half + k;
      float s, c;
      sincospif(-static_cast<float>(k) / static_cast<float>(half), &s, &c);
      const float2 u = line[top];
      const float2 v = line[top + half];
      const float2 w = make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
      line[top] = make_float2(u.x + w.x, u.y + w.y);
      line[top + half] = make_float2(u.x - w.x, u.y - w.y);
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n; i += kThreads) {
    out_real[base + i] = line[i].x;
    out_imaginary[base + i] = line[i].y;
  }
}

__global__ void dft_kernel(const float* __restrict__ real, const float* __restrict__ imaginary,
                           float* __restrict__ out_real, float* __restrict__ out_imaginary, int n) {
  const int64_t base = static_cast<int64_t>(blockIdx.x) * n;
  for (int k = threadIdx.x; k < n; k += kThreads) {
    float sum_real = 0.0f;
    float sum_imaginary = 0.0f;
    for (int i = 0; i < n; ++i) {
      // The product is reduced exactly before it becomes an angle; n <= 4096 keeps it in 32 bits.
      const int turn = i * k % n;
      float s, c;
      sincospif(-2.0f * static_cast<float>(turn) / static_cast<float>(n), &s, &c);
      sum_real += real[base + i] * c - imaginary[base + i] * s;
      sum_imaginary += real[base + i] * s + imaginary[base + i] * c;
    }
    out_real[base + k] = sum_real;
    out_imaginary[base + k] = sum_imaginary;
  }
}

std::vector<torch::Tensor> fft(torch::Tensor real, torch::Tensor imaginary) {
  TORCH_CHECK(real.dim() == 2 && real.sizes() == imaginary.sizes(), "both must be [rows, n]");
  TORCH_CHECK(real.scalar_type() == torch::kFloat32, "real must be float32");
  TORCH_CHECK(real.size(1) <= kMaxLength, "the length is limited to 4096 by shared memory");
  real = real.contiguous();
  imaginary = imaginary.contiguous();
  torch::Tensor out_real = torch::empty_like(real);
  torch::Tensor out_imaginary = torch::empty_like(real);
  if (real.numel() == 0) return {out_real, out_imaginary};
  const int n = static_cast<int>(real.size(1));
  const unsigned rows = static_cast<unsigned>(real.size(0));
  int bits = 0;
  while ((1 << bits) < n) ++bits;
  if ((1 << bits) == n) {
    fft_kernel<<<rows, kThreads, n * sizeof(float2)>>>(
        real.data_ptr<float>(), imaginary.data_ptr<float>(), out_real.data_ptr<float>(),
        out_imaginary.data_ptr<float>(), n, bits);
  } else {
    dft_kernel<<<rows, kThreads>>>(real.data_ptr<float>(), imaginary.data_ptr<float>(),
                                   out_real.data_ptr<float>(), out_imaginary.data_ptr<float>(), n);
  }
  return {out_real, out_imaginary};
}
