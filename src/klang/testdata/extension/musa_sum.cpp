#include <torch/extension.h>
torch::Tensor row_sum(torch::Tensor x);
torch::Tensor checked(torch::Tensor x) {
    TORCH_CHECK(x.device().is_privateuseone() && x.is_contiguous());
    return row_sum(x);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("row_sum", &checked); }
