// Tensors on the CPU and on the GPU, as host code makes and moves them.
#include <torch/extension.h>

__global__ void add_kernel(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

// Which of them are on the GPU, as bits.
int64_t places(torch::Tensor x) {
    std::vector<torch::Tensor> all = {
        torch::empty({2}), torch::zeros({2}, torch::kFloat32), torch::ones({2, 2}, torch::dtype(torch::kHalf)),
        torch::full({2}, 1.5), torch::tensor({1.0, 2.0}), torch::arange(5), torch::scalar_tensor(2.0),
        at::empty_strided({2, 2}, {1, 2}), torch::zeros({2}, torch::TensorOptions().dtype(torch::kInt)),
        // from here on the GPU
        torch::empty({2}, x.options()), torch::empty_like(x), torch::zeros_like(x, torch::kFloat64), x.new_zeros({3}),
        x.new_empty({3}, torch::kInt), torch::zeros({2}, torch::kCUDA), torch::tensor({1.0}, x.options()),
        torch::empty({2}, torch::TensorOptions().device(x.device())), torch::zeros({2}).to(x.device()),
        torch::zeros({2}).cuda(), torch::zeros({2}).to(x), torch::zeros({2}, torch::kInt).to(x.options())};
    int64_t bits = 0;
    for (size_t i = 0; i < all.size(); ++i) {
        TORCH_CHECK(all[i].is_cuda() == !all[i].is_cpu() && all[i].is_cuda() == all[i].device().is_cuda());
        TORCH_CHECK(all[i].is_cuda() == all[i].options().device().is_cuda());
        bits |= (int64_t)all[i].is_cuda() << i;
    }
    TORCH_CHECK(x.to(torch::kHalf).is_cuda() && x.to(torch::TensorOptions().dtype(torch::kHalf)).is_cuda());
    TORCH_CHECK(x.cpu().is_cpu() && x.cpu().contiguous().is_cpu() && x.cpu().clone().is_cpu());
    TORCH_CHECK(torch::empty_like(x.cpu()).is_cpu() && x.to(torch::kCPU).to(torch::kInt).is_cpu());
    TORCH_CHECK(torch::empty_like(x, x.options().device(torch::kCPU)).is_cpu());
    return bits;
}
// A table that the host computes.
float table(torch::Tensor x) {
    auto host = torch::empty({4}, torch::kFloat32);
    auto a = host.accessor<float, 1>();
    for (int i = 0; i < 4; ++i) a[i] = 0.5f * i;
    host.data_ptr<float>()[3] += x.cpu().accessor<float, 1>()[1];
    auto moved = host.to(x.device());
    x.copy_(moved);
    return x.cpu().data_ptr<float>()[3] + moved[1].item<float>();
}
float reads_gpu(torch::Tensor x) { return x.accessor<float, 1>()[0]; }
torch::Tensor stays() { return torch::arange(3); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("places", &places);
    m.def("table", &table);
    m.def("reads_gpu", &reads_gpu);
    m.def("stays", &stays);
}
