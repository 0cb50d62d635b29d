// SPDX-License-Identifier: Apache-2.0
// Direct convolution, one thread per output pixel; the border is handled by skipping taps outside.
// kuafu: entry=conv2d args=x,conv.weight,conv.bias,stride,padding
#include <musa_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 256;

struct Shape {
  int64_t channels, height, width;  // input
  int64_t filters, rows, columns;   // output
  int64_t kh, kw, stride, padding;
};

__global__ void conv2d_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                              const float* __restrict__ bias, float* __restrict__ y, int64_t count,
                              Shape s) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) {
    const int64_t column = i % s.columns;
    const int64_t row = i / s.columns % s.rows;
    const int64_t filter = i / (s.columns * s.rows) % s.filters;
    const int64_t sample = i / (s.columns * s.rows * s.filters);
    float sum = 0.0f;
    for (int64_t c = 0; c < s.channels; ++c) {
      const float* plane = x + (sample * s.channels + c) * s.height * s.width;
      const float* taps = weight + (filter * s.channels + c) * s.kh * s.kw;
      for (int64_t u = 0; u < s.kh; ++u) {
        const int64_t h = row * s.stride - s.padding + u;
        if (h < 0 || h >= s.height) continue;
        for (int64_t v = 0; v < s.kw; ++v) {
          const int64_t w = column * s.stride - s.padding + v;
          if (w >= 0 && w < s.width) sum = fmaf(plane[h * s.width + w], taps[u * s.kw + v], sum);
        }
      }
    }
    y[i] = sum + bias[filter];
  }
}

torch::Tensor conv2d(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t stride,
                     int64_t padding) {
  TORCH_CHECK(x.dim() == 4 && weight.dim() == 4 && x.size(1) == weight.size(1), "NCHW and OIHW");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  TORCH_CHECK(stride > 0 && padding >= 0, "stride must be positive, padding not negative");
  x = x.contiguous();
  weight = weight.contiguous();
  bias = bias.contiguous();
  Shape s;
  s.channels = x.size(1);
  s.height = x.size(2);
  s.width = x.size(3);
  s.filters = weight.size(0);
  s.kh = weight.size(2);
  s.kw = weight.size(3);
  s.stride = stride;
  s.padding = padding;
  s.rows = (s.height + 2 * padding - s.kh) / stride + 1;
  s.columns = (s.width + 2 * padding - s.kw) / stride + 1;
  torch::Tensor y = torch::empty({x.size(0), s.filters, s.rows, s.columns}, x.options());
  const int64_t count = y.numel();
  if (count == 0) return y;
  const unsigned blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  conv2d_kernel<<<blocks, kThreads>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                      bias.data_ptr<float>(), y.data_ptr<float>(), count, s);
  return y;
}
