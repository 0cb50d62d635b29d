#include <torch/extension.h>
#include <cuda_runtime.h>
#include <tuple>

__global__ void stats_kernel(const float* __restrict__ x, float* mean, float* var, int N, int C, int HW) {
    const int c = blockIdx.x;
    __shared__ float s_sum[256], s_sq[256];
    float sum = 0.f, sq = 0.f;
    for (int i = threadIdx.x; i < N * HW; i += blockDim.x) {
        const float v = x[(i / HW * C + c) * HW + i % HW];
        sum += v;
        sq += v * v;
    }
    s_sum[threadIdx.x] = sum;
    s_sq[threadIdx.x] = sq;
    __syncthreads();
    for (int s = blockDim.x >> 1; s > 0; s >>= 1) {
        if (threadIdx.x < s) { s_sum[threadIdx.x] += s_sum[threadIdx.x + s]; s_sq[threadIdx.x] += s_sq[threadIdx.x + s]; }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        const float m = s_sum[0] / (N * HW);
        mean[c] = m;
        var[c] = s_sq[0] / (N * HW) - m * m;
    }
}
__global__ void apply_kernel(const float* x, const float* mean, const float* var, const float* w, const float* b, float* y, int C, int HW, int total, float eps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int c = i / HW % C;
    y[i] = (x[i] - mean[c]) * rsqrtf(var[c] + eps) * w[c] + b[c];
}
__global__ void running_kernel(float* running, const float* now, float momentum, int C) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < C) running[c] = (1 - momentum) * running[c] + momentum * now[c];
}

std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> batch_norm_forward(
    const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
    torch::Tensor& running_mean, torch::Tensor& running_var, bool training, double momentum, double eps) {
    const int N = x.size(0), C = x.size(1), HW = x.numel() / (x.size(0) * x.size(1));
    auto y = torch::empty_like(x);
    auto mean = training ? torch::empty({C}, x.options()) : running_mean;
    auto var = training ? torch::empty({C}, x.options()) : running_var;
    if (training) {
        stats_kernel<<<C, 256>>>(x.data_ptr<float>(), mean.data_ptr<float>(), var.data_ptr<float>(), N, C, HW);
        running_kernel<<<(C + 255) / 256, 256>>>(running_mean.data_ptr<float>(), mean.data_ptr<float>(), momentum, C);
        running_kernel<<<(C + 255) / 256, 256>>>(running_var.data_ptr<float>(), var.data_ptr<float>(), momentum, C);
    }
    const int total = x.numel();
    apply_kernel<<<(total + 255) / 256, 256>>>(x.data_ptr<float>(), mean.data_ptr<float>(), var.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), C, HW, total, (float)eps);
    return std::make_tuple(y, mean, var);
}

namespace py = pybind11;
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    using namespace pybind11::literals;
    m.def("batch_norm_forward", &batch_norm_forward, "x"_a, "weight"_a, "bias"_a, "running_mean"_a, "running_var"_a,
          "training"_a = true, "momentum"_a = 0.1, "eps"_a = 1e-5);
}
