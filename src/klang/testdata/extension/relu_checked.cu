#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>

#define CHECK_CUDA(x) TORCH_CHECK(x.type().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)

__global__ void relu_kernel(const float* __restrict__ input, float* __restrict__ output, int64_t size) {
    const int64_t idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < size) {
        output[idx] = fmaxf(input[idx], 0.0f);
    }
}

torch::Tensor relu_cuda(torch::Tensor input) {
    CHECK_INPUT(input);
    AT_ASSERTM(input.dtype() == torch::kFloat32, "input must be float32");
    auto output = torch::empty_like(input);
    const int64_t size = input.numel();
    const int threads = 256;
    const int blocks = (size + threads - 1) / threads;
    relu_kernel<<<blocks, threads>>>(input.data_ptr<float>(), output.data_ptr<float>(), size);
    cudaError_t err = cudaGetLastError();
    if (err != cudaSuccess) {
        AT_ERROR("relu_kernel failed: ", cudaGetErrorString(err));
    }
    return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.doc() = "rectifier";
    m.def("forward", &relu_cuda, "ReLU forward (CUDA)", py::arg("input"));
}
