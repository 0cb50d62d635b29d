// SPDX-License-Identifier: Apache-2.0
// Embedding: a block per token copies one row of the table. An index outside the table would read
// foreign memory, so such a token gives zeros.
// kuafu: entry=embedding args=tokens,table.weight
#include <cuda_runtime.h>
#include <torch/extension.h>

constexpr int kThreads = 64;

__global__ void embedding_kernel(const int64_t* __restrict__ tokens,
                                 const float* __restrict__ table, float* __restrict__ out,
                                 int64_t vocabulary, int64_t dim) {
  const int64_t token = tokens[blockIdx.x];
  const bool known = token >= 0 && token < vocabulary;
  for (int64_t d = threadIdx.x; d < dim; d += blockDim.x) {
    out[blockIdx.x * dim + d] = known ? table[token * dim + d] : 0.0f;
  }
}

torch::Tensor embedding(torch::Tensor tokens, torch::Tensor table) {
  TORCH_CHECK(tokens.dim() == 2, "tokens must be [batch, length]");
  TORCH_CHECK(tokens.scalar_type() == torch::kInt64, "tokens must be int64");
  TORCH_CHECK(table.scalar_type() == torch::kFloat32, "the table must be float32");
  tokens = tokens.contiguous();
  table = table.contiguous();
  const int64_t dim = table.size(1);
  torch::Tensor out = torch::empty({tokens.size(0), tokens.size(1), dim}, table.options());
  if (out.numel() == 0) return out;
  embedding_kernel<<<static_cast<unsigned>(tokens.numel()), kThreads>>>(
      tokens.data_ptr<int64_t>(), table.data_ptr<float>(), out.data_ptr<float>(), table.size(0),
      dim);
  return out;
}
