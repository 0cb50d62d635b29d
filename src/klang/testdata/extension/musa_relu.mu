#include <torch/extension.h>
#include <musa_runtime.h>
#include "torch_musa/csrc/aten/musa/MUSAContext.h"
#include "torch_musa/csrc/core/MUSAGuard.h"
#include "torch_musa/csrc/core/MUSAStream.h"

template <typename scalar_t>
__global__ void relu_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, const int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > scalar_t(0) ? x[i] : scalar_t(0);
}

torch::Tensor relu_musa(torch::Tensor x) {
    TORCH_CHECK(x.device().type() == c10::DeviceType::PrivateUse1, "x must be a MUSA tensor");
    TORCH_CHECK(x.is_privateuseone(), "x must be a MUSA tensor");
    const c10::musa::MUSAGuard guard(x.device());
    auto stream = c10::musa::getCurrentMUSAStream().stream();
    auto y = at::empty(x.sizes(), x.options().device(at::musa::kMUSA));
    const int n = x.numel();
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "relu_musa", [&] {
        relu_kernel<scalar_t><<<(n + 255) / 256, 256, 0, stream>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n);
    });
    C10_MUSA_CHECK(musaGetLastError());
    C10_MUSA_KERNEL_LAUNCH_CHECK();
    musaError_t error = musaStreamSynchronize(stream);
    TORCH_CHECK(error == musaSuccess, musaGetErrorString(error));
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("relu_musa", &relu_musa, "ReLU (MUSA)"); }
