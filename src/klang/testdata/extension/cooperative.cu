#include <torch/extension.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

__global__ void rms_kernel(const float* x, float* y, int cols, float eps) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    __shared__ float partial[32];
    float sum = 0;
    for (int i = block.thread_rank(); i < cols; i += block.size()) { float v = x[blockIdx.x * cols + i]; sum += v * v; }
    sum = cg::reduce(warp, sum, cg::plus<float>());
    if (warp.thread_rank() == 0) partial[threadIdx.x / 32] = sum;
    block.sync();
    if (threadIdx.x < 32) {
        float v = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.f;
        v = cg::reduce(warp, v, cg::plus<float>());
        if (threadIdx.x == 0) partial[0] = rsqrtf(v / cols + eps);
    }
    block.sync();
    for (int i = threadIdx.x; i < cols; i += blockDim.x) y[blockIdx.x * cols + i] = x[blockIdx.x * cols + i] * partial[0];
}

torch::Tensor rms_norm_cuda(torch::Tensor x, float eps) {
    auto y = torch::empty_like(x);
    const int cols = x.size(-1);
    rms_kernel<<<x.numel() / cols, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols, eps);
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("rms_norm_cuda", &rms_norm_cuda, py::arg("x"), py::arg("eps") = 1e-5); }
