#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/cuda/Atomic.cuh>
#include <torch/extension.h>

template <typename T>
__global__ void copy_kernel(const T* __restrict__ x, T* __restrict__ y, int64_t n) {
    const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (i < n) y[i] = x[i];
}
template <typename T, typename O = at::opmath_type<T>>
__global__ void square_kernel(const T* x, T* y, int64_t n) {
    const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (i < n) {
        const O v = static_cast<O>(x[i]);
        y[i] = static_cast<T>(v * v);
    }
}
__global__ void histogram(const float* x, int* bins, int n, float* total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&bins[min(max((int)x[i], 0), 15)], 1);
    gpuAtomicAdd(total, x[i]);
}

template <typename scalar_t>
void launch(const at::Tensor& x, at::Tensor& y) {
    copy_kernel<scalar_t><<<(x.numel() + 127) / 128, 128>>>(x.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), x.numel());
}

at::Tensor copy(const at::Tensor& x) {
    auto y = at::empty_like(x);
    AT_DISPATCH_ALL_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, x.scalar_type(), "copy", [&]() { launch<scalar_t>(x, y); });
    return y;
}
at::Tensor square(const at::Tensor& x) {
    auto y = at::empty_like(x);
    const auto n = x.numel();
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "square", [&] {
        square_kernel<scalar_t><<<(n + 127) / 128, 128>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n);
    });
    return y;
}
at::Tensor chosen(const at::Tensor& x) {
    auto y = at::empty_like(x);
    AT_DISPATCH_SWITCH(x.scalar_type(), "chosen",
        AT_DISPATCH_CASE(at::ScalarType::Float, [&] { launch<scalar_t>(x, y); })
        AT_DISPATCH_CASE(at::ScalarType::Half, [&] { launch<scalar_t>(x, y); })
        AT_DISPATCH_CASE_INTEGRAL_TYPES([&] { launch<scalar_t>(x, y); }));
    return y;
}
double sum(const at::Tensor& x) {
    double result = 0;
    switch (x.scalar_type()) {
        case at::ScalarType::Float: result = 1; break;
        case torch::kHalf: result = 2; break;
        default: TORCH_CHECK(false, "unsupported dtype ", x.scalar_type());
    }
    if (x.dtype() == torch::kFloat32 && x.dtype() != torch::kFloat16) result += 10;
    AT_DISPATCH_ALL_TYPES(x.scalar_type(), "sum", [&] { result += sizeof(scalar_t); });
    return result;
}
std::vector<torch::Tensor> count(torch::Tensor x) {
    auto bins = torch::zeros({16}, x.options().dtype(at::kInt));
    auto total = torch::zeros({1}, x.options());
    histogram<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), bins.data_ptr<int>(), x.numel(), total.data_ptr<float>());
    return {bins, total};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("copy", &copy);
    m.def("square", &square);
    m.def("chosen", &chosen);
    m.def("sum", &sum);
    m.def("count", &count);
}
