// Each function returns another kind of result.
#include <torch/extension.h>

torch::Tensor one(torch::Tensor x) { return x.view(-1); }
std::vector<torch::Tensor> list(torch::Tensor x) { return {x, x.clone(), torch::Tensor()}; }
std::tuple<torch::Tensor, torch::Tensor> two(torch::Tensor x) { return {x, torch::zeros_like(x)}; }
std::tuple<at::Tensor, int64_t, double, bool> mixed(torch::Tensor x) { return std::make_tuple(x, x.numel(), 0.5, true); }
std::pair<torch::Tensor, int> pair(torch::Tensor x) { return {x, 3}; }
std::optional<torch::Tensor> maybe(torch::Tensor x) { return x.numel() > 3 ? std::optional<torch::Tensor>(x) : std::nullopt; }
double real(torch::Tensor x) { return x.numel() / 2.0; }
float single(torch::Tensor x) { return 0.25f; }
int64_t integer(torch::Tensor x) { return x.size(0); }
int small(torch::Tensor x) { return (int)x.dim(); }
bool boolean(torch::Tensor x) { return x.is_contiguous(); }
at::Scalar scalar(torch::Tensor x) { return x.numel(); }
std::vector<int64_t> sizes(torch::Tensor x) { return x.sizes().vec(); }
torch::Tensor undefined(torch::Tensor x) { return {}; }
torch::Tensor throws(torch::Tensor x) { TORCH_CHECK(x.dim() == 7, "expected 7 dimensions, got ", x.dim()); return x; }
void none(torch::Tensor x) { x.fill_(4); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("one", &one);
    m.def("list", &list);
    m.def("two", &two);
    m.def("mixed", &mixed);
    m.def("pair", &pair);
    m.def("maybe", &maybe);
    m.def("real", &real);
    m.def("single", &single);
    m.def("integer", &integer);
    m.def("small", &small);
    m.def("boolean", &boolean);
    m.def("scalar", &scalar);
    m.def("sizes", &sizes);
    m.def("undefined", &undefined);
    m.def("throws", &throws);
    m.def("none", &none);
}
