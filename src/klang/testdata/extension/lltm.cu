#include <torch/extension.h>

#include <cuda.h>
#include <cuda_runtime.h>

#include <vector>

namespace {
template <typename scalar_t>
__device__ __forceinline__ scalar_t sigmoid(scalar_t z) {
  return 1.0 / (1.0 + exp(-z));
}

template <typename scalar_t>
__device__ __forceinline__ scalar_t elu(scalar_t z, scalar_t alpha = 1.0) {
  return fmaxf(0.0, z) + fminf(0.0, alpha * (exp(z) - 1.0));
}

template <typename scalar_t>
__global__ void lltm_cuda_forward_kernel(
    const torch::PackedTensorAccessor<scalar_t,3,torch::RestrictPtrTraits,size_t> gates,
    const torch::PackedTensorAccessor32<scalar_t,2,torch::RestrictPtrTraits> old_cell,
    torch::PackedTensorAccessor32<scalar_t,2,torch::RestrictPtrTraits> new_h,
    torch::PackedTensorAccessor32<scalar_t,2,torch::RestrictPtrTraits> new_cell) {
  const int n = blockIdx.y;
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < gates.size(2)) {
    const scalar_t input_gate = sigmoid(gates[n][0][c]);
    const scalar_t output_gate = sigmoid(gates[n][1][c]);
    const scalar_t candidate = elu(gates[n][2][c]);
    new_cell[n][c] = old_cell[n][c] + candidate * input_gate;
    new_h[n][c] = tanh(new_cell[n][c]) * output_gate;
  }
}
} // namespace

std::vector<torch::Tensor> lltm_cuda_forward(
    torch::Tensor gates,
    torch::Tensor old_cell) {
  auto g = gates.reshape({old_cell.size(0), 3, old_cell.size(1)});
  auto new_h = torch::zeros_like(old_cell);
  auto new_cell = torch::zeros_like(old_cell);
  const int threads = 1024;
  const dim3 blocks((old_cell.size(1) + threads - 1) / threads, old_cell.size(0));

  AT_DISPATCH_FLOATING_TYPES(g.type(), "lltm_forward_cuda", ([&] {
    lltm_cuda_forward_kernel<scalar_t><<<blocks, threads>>>(
        g.packed_accessor<scalar_t,3,torch::RestrictPtrTraits,size_t>(),
        old_cell.packed_accessor32<scalar_t,2,torch::RestrictPtrTraits>(),
        new_h.packed_accessor32<scalar_t,2,torch::RestrictPtrTraits>(),
        new_cell.packed_accessor32<scalar_t,2,torch::RestrictPtrTraits>());
  }));

  return {new_h, new_cell};
}

std::vector<at::Tensor> lltm_cuda_backward(torch::Tensor grad_h, torch::Tensor new_cell) {
  return {grad_h.clone(), new_cell.clone()};
}
