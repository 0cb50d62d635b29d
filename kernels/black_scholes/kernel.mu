// SPDX-License-Identifier: Apache-2.0
// Black-Scholes calls and puts, one option per thread, two results. The normal distribution comes
// from erfc, and the put from the call by parity.
// kuafu: entry=black_scholes args=spot,strike,years
#include <musa_runtime.h>
#include <torch/extension.h>

#include <vector>

constexpr int kThreads = 256;
constexpr float kRate = 0.02f;
constexpr float kVolatility = 0.3f;

__device__ float normal_cdf(float x) { return 0.5f * erfcf(-x * 0.70710678118654752f); }

__global__ void price_kernel(const float* __restrict__ spot, const float* __restrict__ strike,
                             const float* __restrict__ years, float* __restrict__ call,
                             float* __restrict__ put, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) {
    const float s = spot[i];
    const float t = years[i];
    const float root = kVolatility * sqrtf(t);
    const float drift = (kRate + 0.5f * kVolatility * kVolatility) * t;
    const float d1 = (logf(s / strike[i]) + drift) / root;
    const float discounted = strike[i] * expf(-kRate * t);
    const float price = s * normal_cdf(d1) - discounted * normal_cdf(d1 - root);
    call[i] = price;
    put[i] = price - s + discounted;
  }
}

std::vector<torch::Tensor> black_scholes(torch::Tensor spot, torch::Tensor strike,
                                         torch::Tensor years) {
  TORCH_CHECK(spot.scalar_type() == torch::kFloat32, "spot must be float32");
  TORCH_CHECK(spot.sizes() == strike.sizes() && spot.sizes() == years.sizes(), "shapes differ");
  spot = spot.contiguous();
  strike = strike.contiguous();
  years = years.contiguous();
  torch::Tensor call = torch::empty_like(spot);
  torch::Tensor put = torch::empty_like(spot);
  const int64_t count = spot.numel();
  if (count == 0) return {call, put};
  price_kernel<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads>>>(
      spot.data_ptr<float>(), strike.data_ptr<float>(), years.data_ptr<float>(),
      call.data_ptr<float>(), put.data_ptr<float>(), count);
  return {call, put};
}
