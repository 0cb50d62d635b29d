#include <ATen/ATen.h>
#include <ATen/AccumulateType.h>
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

namespace {

template <typename scalar_t, typename acc_t>
__global__ void layer_norm_kernel(const scalar_t* x, const scalar_t* gamma, const scalar_t* beta, scalar_t* y, int64_t n, acc_t eps) {
    extern __shared__ unsigned char raw[];
    acc_t* buffer = reinterpret_cast<acc_t*>(raw);
    const scalar_t* row = x + blockIdx.x * n;
    acc_t sum = 0, squares = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
        const acc_t v = static_cast<acc_t>(row[i]);
        sum += v;
        squares += v * v;
    }
    buffer[threadIdx.x] = sum;
    buffer[blockDim.x + threadIdx.x] = squares;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) {
            buffer[threadIdx.x] += buffer[threadIdx.x + s];
            buffer[blockDim.x + threadIdx.x] += buffer[blockDim.x + threadIdx.x + s];
        }
        __syncthreads();
    }
    const acc_t mean = buffer[0] / n;
    const acc_t scale = rsqrt(buffer[blockDim.x] / n - mean * mean + eps);
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
        acc_t v = (static_cast<acc_t>(row[i]) - mean) * scale;
        if (gamma != nullptr) v *= static_cast<acc_t>(gamma[i]);
        if (beta != nullptr) v += static_cast<acc_t>(beta[i]);
        y[blockIdx.x * n + i] = static_cast<scalar_t>(v);
    }
}

}  // namespace

torch::Tensor layer_norm(const torch::Tensor& input, const c10::optional<torch::Tensor>& weight,
                         const c10::optional<torch::Tensor>& bias, double eps) {
    const auto x = input.contiguous();
    auto y = torch::empty_like(x, x.options(), at::MemoryFormat::Contiguous);
    const int64_t n = x.size(-1), rows = x.numel() / n;
    const int threads = 256;
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "layer_norm", [&] {
        using acc_t = at::acc_type<scalar_t, true>;
        layer_norm_kernel<scalar_t, acc_t><<<rows, threads, 2 * threads * sizeof(acc_t), at::cuda::getCurrentCUDAStream()>>>(
            x.data_ptr<scalar_t>(), weight.has_value() ? weight->data_ptr<scalar_t>() : nullptr,
            bias.has_value() ? bias.value().data_ptr<scalar_t>() : nullptr, y.data_ptr<scalar_t>(), n, static_cast<acc_t>(eps));
    });
    C10_CUDA_CHECK(cudaGetLastError());
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("layer_norm", &layer_norm, py::arg("input"), py::arg("weight") = py::none(), py::arg("bias") = c10::nullopt,
          py::arg("eps") = 1e-5);
}
