#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <limits>

constexpr int kWarp = 32;

template <typename T>
__device__ __forceinline__ T warp_max(T v) {
    for (int offset = kWarp / 2; offset > 0; offset >>= 1) v = max(v, __shfl_xor_sync(0xffffffff, v, offset));
    return v;
}
template <typename T>
__device__ __forceinline__ T warp_sum(T v) {
    for (int offset = kWarp / 2; offset > 0; offset >>= 1) v += __shfl_xor_sync(0xffffffff, v, offset);
    return v;
}

template <typename scalar_t, int BLOCK>
__global__ void __launch_bounds__(BLOCK) softmax_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, const int cols) {
    __shared__ scalar_t shared[BLOCK / kWarp];
    const scalar_t* row = x + (int64_t)blockIdx.x * cols;
    scalar_t m = -std::numeric_limits<scalar_t>::infinity();
    for (int i = threadIdx.x; i < cols; i += BLOCK) m = max(m, row[i]);
    m = warp_max(m);
    if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = m;
    __syncthreads();
    m = shared[0];
    for (int i = 1; i < BLOCK / kWarp; ++i) m = max(m, shared[i]);
    __syncthreads();
    scalar_t s = 0;
    for (int i = threadIdx.x; i < cols; i += BLOCK) s += exp(row[i] - m);
    s = warp_sum(s);
    if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = s;
    __syncthreads();
    s = 0;
    for (int i = 0; i < BLOCK / kWarp; ++i) s += shared[i];
    for (int i = threadIdx.x; i < cols; i += BLOCK) y[(int64_t)blockIdx.x * cols + i] = exp(row[i] - m) / s;
}

at::Tensor softmax_forward(const at::Tensor& x) {
    const at::cuda::OptionalCUDAGuard device_guard(device_of(x));
    const auto stream = at::cuda::getCurrentCUDAStream();
    auto y = at::empty(x.sizes(), x.options());
    const int rows = x.size(0), cols = x.size(-1);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "softmax_forward", ([&] {
        softmax_kernel<scalar_t, 128><<<rows, 128, 0, stream>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), cols);
    }));
    AT_CUDA_CHECK(cudaGetLastError());
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("softmax_forward", &softmax_forward, "softmax over the last dimension");
}
