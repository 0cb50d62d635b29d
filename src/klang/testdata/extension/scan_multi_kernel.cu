#include <torch/extension.h>
#include <vector>

#define BLOCK 256
#define DIVUP(a, b) (((a) + (b) - 1) / (b))
#define cudaCheck(call) do { cudaError_t e = (call); if (e != cudaSuccess) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); throw std::runtime_error(cudaGetErrorString(e)); } } while (0)

__global__ void block_scan(const float* in, float* out, float* sums, int n) {
    __shared__ float temp[2][BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x, p = 0;
    temp[0][threadIdx.x] = i < n ? in[i] : 0.f;
    __syncthreads();
    for (int d = 1; d < BLOCK; d *= 2) {
        temp[1 - p][threadIdx.x] = temp[p][threadIdx.x] + (threadIdx.x >= d ? temp[p][threadIdx.x - d] : 0.f);
        p = 1 - p;
        __syncthreads();
    }
    if (i < n) out[i] = temp[p][threadIdx.x];
    if (threadIdx.x == BLOCK - 1) sums[blockIdx.x] = temp[p][threadIdx.x];
}
__global__ void add_offsets(float* out, const float* offsets, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n && blockIdx.x > 0) out[i] += offsets[blockIdx.x - 1];
}

static void scan(const float* in, float* out, int n, const torch::TensorOptions& options) {
    const int blocks = DIVUP(n, BLOCK);
    auto sums = torch::empty({blocks}, options);
    block_scan<<<blocks, BLOCK>>>(in, out, sums.data_ptr<float>(), n);
    if (blocks == 1) return;
    auto scanned = torch::empty_like(sums);
    scan(sums.data_ptr<float>(), scanned.data_ptr<float>(), blocks, options);
    add_offsets<<<blocks, BLOCK>>>(out, scanned.data_ptr<float>(), n);
    cudaCheck(cudaGetLastError());
}

torch::Tensor cumsum_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    scan(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), x.options());
    cudaCheck(cudaDeviceSynchronize());
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("cumsum_cuda", &cumsum_cuda, "inclusive scan"); }
