#include <torch/extension.h>

#include <vector>

std::vector<torch::Tensor> lltm_cuda_forward(
    torch::Tensor gates,
    torch::Tensor old_cell);

std::vector<at::Tensor> lltm_cuda_backward(
    torch::Tensor grad_h,
    torch::Tensor new_cell);

// C++ interface
#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)

std::vector<torch::Tensor> lltm_forward(torch::Tensor gates, torch::Tensor old_cell) {
  CHECK_INPUT(gates);
  CHECK_INPUT(old_cell);
  return lltm_cuda_forward(gates, old_cell);
}

std::vector<torch::Tensor> lltm_backward(torch::Tensor grad_h, torch::Tensor new_cell) {
  CHECK_INPUT(grad_h);
  return lltm_cuda_backward(grad_h, new_cell);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &lltm_forward, "LLTM forward (CUDA)");
  m.def("backward", &lltm_backward, "LLTM backward (CUDA)");
}
