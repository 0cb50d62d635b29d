#include <torch/extension.h>

std::vector<torch::Tensor> create(torch::Tensor x, int64_t n) {
    auto opts = torch::TensorOptions().dtype(torch::kFloat32).device(torch::kCUDA, 0).requires_grad(false);
    auto index = torch::TensorOptions(torch::kCUDA).dtype(torch::kInt64).layout(torch::kStrided);
    std::vector<torch::Tensor> all;
    all.push_back(torch::empty({n, 2}, opts));
    all.push_back(torch::empty(n, x.options()));
    all.push_back(torch::empty(x.sizes(), x.options().dtype(torch::kInt32)));
    all.push_back(torch::empty_like(x, torch::MemoryFormat::Contiguous));
    all.push_back(torch::zeros({1}, torch::dtype(torch::kFloat64).device(x.device())));
    all.push_back(torch::zeros({n}, torch::device(torch::kCUDA).dtype(torch::kHalf)));
    all.push_back(torch::ones({n, n}, x.dtype()));
    all.push_back(torch::full({2, n}, 3.5, opts));
    all.push_back(torch::full({n}, n, index));
    all.push_back(torch::full_like(x, -1e30f));
    all.push_back(torch::ones_like(x));
    all.push_back(torch::zeros_like(x, x.options().dtype(torch::kUInt8)));
    all.push_back(torch::arange(n, index));
    all.push_back(torch::arange(0, n, 2, torch::kCUDA));
    all.push_back(torch::tensor({1.0, 2.0, 3.0}, opts));
    all.push_back(torch::tensor({1, 2}, torch::kInt32));
    all.push_back(at::empty_strided({n, n}, {1, n}, x.options()));
    all.push_back(x.new_zeros({n}));
    all.push_back(x.new_empty({n, 3}, x.options().dtype(torch::kBFloat16)));
    all.push_back(torch::scalar_tensor(2.0, opts));
    const torch::ScalarType type = x.scalar_type();
    all.push_back(torch::empty({0}, torch::TensorOptions(type).device("cuda")));
    return all;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("create", &create); }
