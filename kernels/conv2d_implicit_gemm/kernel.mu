// SPDX-License-Identifier: Apache-2.0
// Convolution as an implicit matrix product: filters x (channels*kh*kw) times (channels*kh*kw) x
// pixels. The second matrix is never stored; its tile is gathered from the image with zeros for the
// border.
// kuafu: entry=conv2d args=x,conv.weight,padding
#include <musa_runtime.h>
#include <torch/extension.h>

constexpr int kTile = 16;

struct Shape {
  int64_t batch, channels, height, width, filters, rows, columns, kh, kw, padding;
};

// Element (depth, pixel) of the unfolded input.
__device__ float unfolded(const float* __restrict__ x, const Shape& s, int64_t depth,
                          int64_t pixel) {
  const int64_t channel = depth / (s.kh * s.kw);
  const int64_t tap = depth % (s.kh * s.kw);
  const int64_t sample = pixel / (s.rows * s.columns);
  const int64_t position = pixel % (s.rows * s.columns);
  const int64_t h = position / s.columns - s.padding + tap / s.kw;
  const int64_t w = position % s.columns - s.padding + tap % s.kw;
  if (h < 0 || h >= s.height || w < 0 || w >= s.width) return 0.0f;
  return x[((sample * s.channels + channel) * s.height + h) * s.width + w];
}

__global__ void conv2d_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                              float* __restrict__ y, int64_t tiles_across, Shape s) {
  __shared__ float w_tile[kTile][kTile];
  __shared__ float x_tile[kTile][kTile + 1];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int64_t depth_count = s.channels * s.kh * s.kw;
  const int64_t pixels = s.batch * s.rows * s.columns;
  const int64_t filter = blockIdx.x / tiles_across * kTile + ty;
  const int64_t pixel = blockIdx.x % tiles_across * kTile + tx;
  float sum = 0.0f;
  for (int64_t p = 0; p < depth_count; p += kTile) {
    w_tile[ty][tx] =
        filter < s.filters && p + tx < depth_count ? weight[filter * depth_count + p + tx] : 0.0f;
    x_tile[ty][tx] = p + ty < depth_count && pixel < pixels ? unfolded(x, s, p + ty, pixel) : 0.0f;
    __syncthreads();
    for (int q = 0; q < kTile; ++q) sum = fmaf(w_tile[ty][q], x_tile[q][tx], sum);
    __syncthreads();
  }
  if (filter < s.filters && pixel < pixels) {
    const int64_t plane = s.rows * s.columns;
    y[(pixel / plane * s.filters + filter) * plane + pixel % plane] = sum;
  }
}

torch::Tensor conv2d(torch::Tensor x, torch::Tensor weight, int64_t padding) {
  TORCH_CHECK(x.dim() == 4 && weight.dim() == 4 && x.size(1) == weight.size(1), "NCHW and OIHW");
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  x = x.contiguous();
  weight = weight.contiguous();
  Shape s;
  s.batch = x.size(0);
  s.channels = x.size(1);
  s.height = x.size(2);
  s.width = x.size(3);
  s.filters = weight.size(0);
  s.kh = weight.size(2);
  s.kw = weight.size(3);
  s.padding = padding;
  s.rows = s.height + 2 * padding - s.kh + 1;
  s.columns = s.width + 2 * padding - s.kw + 1;
  torch::Tensor y = torch::empty({s.batch, s.filters, s.rows, s.columns}, x.options());
  if (y.numel() == 0) return y;
  const int64_t across = (s.batch * s.rows * s.columns + kTile - 1) / kTile;
  const int64_t down = (s.filters + kTile - 1) / kTile;
  conv2d_kernel<<<static_cast<unsigned>(across * down), dim3(kTile, kTile)>>>(
      x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), across, s);
  return y;
}
