// SPDX-License-Identifier: Apache-2.0
// Hazard: index made negative by a wrong wrap-around
#include <torch/extension.h>

__global__ void gather(const float* table, const long long* index, float* y, int vocab, int width) {
  long long r = index[blockIdx.x] % vocab;
  r -= vocab;
  for (int c = threadIdx.x; c < width; c += 64)
    y[(size_t)blockIdx.x * width + c] = table[r * width + c];  // EXPECT: oob
}

torch::Tensor forward(torch::Tensor table_in, torch::Tensor index_in) {
  auto table = table_in.contiguous(), index = index_in.contiguous();
  const int vocab = (int)table.size(0), width = (int)table.size(1), count = (int)index.numel();
  auto y = torch::empty({count, width}, table.options());
  if (count > 0 && width > 0)
    gather<<<count, 64>>>(table.data_ptr<float>(), (const long long*)index.data_ptr<int64_t>(),
                          y.data_ptr<float>(), vocab, width);
  return y;
}
