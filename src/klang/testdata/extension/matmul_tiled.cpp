#include <torch/extension.h>

torch::Tensor matmul_cuda(torch::Tensor A, torch::Tensor B);

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
m.def("matmul_cuda", torch::wrap_pybind_function(matmul_cuda), "matmul_cuda");
}
