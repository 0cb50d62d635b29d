// Sums, extremes and prefix sums of rows with the parts of CUB that work within a block. Blocks of 100
// threads: neither a power of two nor a multiple of any warp.
#include <torch/extension.h>
#include <cub/cub.cuh>

constexpr int kThreads = 100;

template <typename scalar_t>
__global__ void row_sum_kernel(const scalar_t* x, scalar_t* sum, scalar_t* top, int n) {
    using Reduce = cub::BlockReduce<scalar_t, kThreads>;
    __shared__ typename Reduce::TempStorage temp;
    const scalar_t* row = x + (int64_t)blockIdx.x * n;
    scalar_t total = 0, high = row[0];
    for (int i = threadIdx.x; i < n; i += kThreads) {
        total += row[i];
        high = max(high, row[i]);
    }
    total = Reduce(temp).Sum(total);
    __syncthreads();
    high = Reduce(temp).Reduce(high, cub::Max());
    if (threadIdx.x == 0) {
        sum[blockIdx.x] = total;
        top[blockIdx.x] = high;
    }
}
// The index of the first largest of at most kThreads numbers, some threads having none.
__global__ void argmax_kernel(const float* x, int64_t* at, int n) {
    using Pair = cub::KeyValuePair<int, float>;
    using Reduce = cub::BlockReduce<Pair, kThreads, cub::BLOCK_REDUCE_RAKING>;
    __shared__ typename Reduce::TempStorage temp;
    Pair mine(threadIdx.x, threadIdx.x < n ? x[blockIdx.x * n + threadIdx.x] : 0.0f);
    Pair best = Reduce(temp).Reduce(mine, cub::ArgMax(), n);
    if (threadIdx.x == 0) at[blockIdx.x] = best.key;
}
struct Running {
    float total;
    __device__ float operator()(float block) {
        float before = total;
        total += block;
        return before;
    }
};
__global__ void cumsum_kernel(const float* x, float* y, float* before, int n) {
    using Scan = cub::BlockScan<float, kThreads>;
    __shared__ typename Scan::TempStorage temp;
    Running running{0.0f};
    for (int base = 0; base < n; base += kThreads) {
        const int i = base + threadIdx.x;
        const float v = i < n ? x[blockIdx.x * n + i] : 0.0f;
        float sum;
        Scan(temp).InclusiveSum(v, sum, running);
        __syncthreads();
        if (i < n) y[blockIdx.x * n + i] = sum;
        float left, all;
        Scan(temp).ExclusiveSum(v, left, all);
        __syncthreads();
        if (i < n) before[blockIdx.x * n + i] = left + all;
    }
}
__global__ void warp_sum_kernel(const float* x, float* y, int n) {
    using Warp = cub::WarpReduce<float>;
    __shared__ typename Warp::TempStorage temp[4];
    const int warp = threadIdx.x / 32;
    const float sum = Warp(temp[warp]).Sum(x[threadIdx.x], min(32, n - warp * 32));
    if (threadIdx.x % 32 == 0) y[warp] = sum;
}

std::vector<torch::Tensor> rows(torch::Tensor x) {
    const int n = x.size(1), m = x.size(0);
    auto sum = torch::empty({m}, x.options()), top = torch::empty({m}, x.options());
    auto at = torch::empty({m}, x.options().dtype(torch::kLong));
    auto y = torch::empty_like(x), before = torch::empty_like(x), warps = torch::empty({4}, x.options());
    row_sum_kernel<float><<<m, kThreads>>>(x.data_ptr<float>(), sum.data_ptr<float>(), top.data_ptr<float>(), n);
    argmax_kernel<<<m, kThreads>>>(x.data_ptr<float>(), at.data_ptr<int64_t>(), std::min(n, kThreads));
    cumsum_kernel<<<m, kThreads>>>(x.data_ptr<float>(), y.data_ptr<float>(), before.data_ptr<float>(), n);
    warp_sum_kernel<<<1, kThreads>>>(x.data_ptr<float>(), warps.data_ptr<float>(), kThreads);
    return {sum, top, at, y, before, warps};
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("rows", &rows); }
