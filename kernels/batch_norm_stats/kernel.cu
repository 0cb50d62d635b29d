// SPDX-License-Identifier: Apache-2.0
// Batch norm with batch statistics: a block per channel merges (count, mean, M2) triples by Chan's
// formula, which is one pass over memory and still free of cancellation; a second kernel
// normalises.
// kuafu: entry=batch_norm_stats args=x
#include <cuda_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 256;
constexpr float kEps = 1e-5f;

struct Moments {
  float count;
  float mean;
  float m2;  // sum of squared deviations from the mean
};

__device__ Moments combine(Moments a, Moments b) {
  const float count = a.count + b.count;
  if (count == 0.0f) return a;
  const float delta = b.mean - a.mean;
  const float share = b.count / count;
  return {count, a.mean + delta * share, a.m2 + b.m2 + delta * delta * a.count * share};
}

__global__ void channel_moments(const float* __restrict__ x, float* __restrict__ mean,
                                float* __restrict__ inverse, int64_t batch, int64_t channels,
                                int64_t pixels) {
  __shared__ Moments scratch[kThreads];
  const int64_t channel = blockIdx.x;
  Moments own = {0.0f, 0.0f, 0.0f};
  for (int64_t i = threadIdx.x; i < batch * pixels; i += kThreads) {
    const int64_t sample = i / pixels;
    const float value = x[(sample * channels + channel) * pixels + i % pixels];
    own.count += 1.0f;
    const float delta = value - own.mean;
    own.mean += delta / own.count;
    own.m2 += delta * (value - own.mean);  // Welford's update
  }
  scratch[threadIdx.x] = own;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      scratch[threadIdx.x] = combine(scratch[threadIdx.x], scratch[threadIdx.x + half]);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    mean[channel] = scratch[0].mean;
    inverse[channel] = 1.0f / sqrtf(scratch[0].m2 / scratch[0].count + kEps);
  }
}

__global__ void normalise(const float* __restrict__ x, const float* __restrict__ mean,
                          const float* __restrict__ inverse, float* __restrict__ y, int64_t count,
                          int64_t channels, int64_t pixels) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) {
    const int64_t channel = i / pixels % channels;
    y[i] = (x[i] - mean[channel]) * inverse[channel];
  }
}

torch::Tensor batch_norm_stats(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 4, "x must be [batch, channels, height, width]");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  torch::Tensor y = torch::empty_like(x);
  const int64_t count = x.numel();
  if (count == 0) return y;
  const int64_t channels = x.size(1);
  const int64_t pixels = x.size(2) * x.size(3);
  torch::Tensor mean = torch::empty({channels}, x.options());
  torch::Tensor inverse = torch::empty({channels}, x.options());
  channel_moments<<<static_cast<unsigned>(channels), kThreads>>>(
      x.data_ptr<float>(), mean.data_ptr<float>(), inverse.data_ptr<float>(), x.size(0), channels,
      pixels);
  const unsigned blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  normalise<<<blocks, kThreads>>>(x.data_ptr<float>(), mean.data_ptr<float>(),
                                  inverse.data_ptr<float>(), y.data_ptr<float>(), count, channels,
                                  pixels);
  return y;
}
