#include <torch/extension.h>
__constant__ float coefficient[2];
static __global__ void kernel(float* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = coefficient[0] + 1;
}
template <typename T> __global__ void shared_template(T* x) { x[threadIdx.x] += T(1); }
static void launch(torch::Tensor& x) {
    const float host[2] = {10.f, 0.f};
    cudaMemcpyToSymbol(coefficient, host, sizeof(host));
    kernel<<<1, 64>>>(x.data_ptr<float>(), (int)x.numel());
    shared_template<<<1, 4>>>(x.data_ptr<float>());
}
void first(torch::Tensor x) { launch(x); }
void second(torch::Tensor x);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("first", &first);
    m.def("second", &second);
}
