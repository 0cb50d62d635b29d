// Whole-array functions of CUB and Thrust, as a model writes them: each compiles and ends the call by name.
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
#include <cub/cub.cuh>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

torch::Tensor cub_sum(torch::Tensor x) {
    auto y = torch::empty({}, x.options());
    void* temp = nullptr;
    size_t bytes = 0;
    cub::DeviceReduce::Sum(temp, bytes, x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    auto store = torch::empty({(int64_t)bytes}, x.options().dtype(torch::kUInt8));
    cub::DeviceReduce::Sum(store.data_ptr(), bytes, x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
torch::Tensor cub_scan(torch::Tensor x) {
    size_t bytes = 0;
    cub::DeviceScan::InclusiveSum(nullptr, bytes, x.data_ptr<float>(), x.data_ptr<float>(), (int)x.numel(), c10::cuda::getCurrentCUDAStream());
    return x;
}
torch::Tensor thrust_sum(torch::Tensor x) {
    thrust::device_ptr<float> p(x.data_ptr<float>());
    float total = thrust::reduce(thrust::device, p, p + x.numel(), 0.0f, thrust::plus<float>());
    return torch::full({}, total, x.options());
}
torch::Tensor thrust_sort(torch::Tensor x) {
    auto p = thrust::device_pointer_cast(x.data_ptr<float>());
    thrust::sort(thrust::cuda::par.on(c10::cuda::getCurrentCUDAStream()), p, p + x.numel(), thrust::greater<float>());
    return x;
}
torch::Tensor thrust_vector(torch::Tensor x) {
    thrust::device_vector<float> v(x.numel());
    thrust::transform(v.begin(), v.end(), v.begin(), thrust::negate<float>());
    return x;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("cub_sum", &cub_sum);
    m.def("cub_scan", &cub_scan);
    m.def("thrust_sum", &thrust_sum);
    m.def("thrust_sort", &thrust_sort);
    m.def("thrust_vector", &thrust_vector);
}
