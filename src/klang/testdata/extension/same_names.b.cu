#include <torch/extension.h>
__constant__ float coefficient[2];
static __global__ void kernel(float* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = coefficient[1] + 2;
}
template <typename T> __global__ void shared_template(T* x) { x[threadIdx.x] += T(1); }
static void launch(torch::Tensor& x) {
    const float host[2] = {0.f, 20.f};
    cudaMemcpyToSymbol(coefficient, host, sizeof(host));
    kernel<<<1, 64>>>(x.data_ptr<float>(), (int)x.numel());
    shared_template<<<1, 4>>>(x.data_ptr<float>());
}
void second(torch::Tensor x) { launch(x); }
