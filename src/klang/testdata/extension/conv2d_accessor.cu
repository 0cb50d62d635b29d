#include <torch/extension.h>
#include <vector>

template <typename scalar_t>
__global__ void conv2d_kernel(
    const torch::PackedTensorAccessor32<scalar_t, 4, torch::RestrictPtrTraits> input,
    const torch::PackedTensorAccessor32<scalar_t, 4, torch::RestrictPtrTraits> weight,
    const scalar_t* __restrict__ bias,
    torch::PackedTensorAccessor32<scalar_t, 4, torch::RestrictPtrTraits> output,
    int stride, int padding) {
    const int w = blockIdx.x * blockDim.x + threadIdx.x;
    const int h = blockIdx.y * blockDim.y + threadIdx.y;
    const int oc = blockIdx.z % output.size(1);
    const int n = blockIdx.z / output.size(1);
    if (w >= output.size(3) || h >= output.size(2)) return;
    scalar_t sum = bias ? bias[oc] : scalar_t(0);
    for (int ic = 0; ic < input.size(1); ++ic) {
        for (int kh = 0; kh < weight.size(2); ++kh) {
            for (int kw = 0; kw < weight.size(3); ++kw) {
                const int ih = h * stride - padding + kh;
                const int iw = w * stride - padding + kw;
                if (ih >= 0 && ih < input.size(2) && iw >= 0 && iw < input.size(3))
                    sum += input[n][ic][ih][iw] * weight[oc][ic][kh][kw];
            }
        }
    }
    output[n][oc][h][w] = sum;
}

torch::Tensor conv2d(torch::Tensor input, torch::Tensor weight, torch::optional<torch::Tensor> bias, std::vector<int64_t> stride, int64_t padding) {
    TORCH_CHECK_EQ(input.dim(), 4);
    TORCH_CHECK(stride.size() == 2 && stride[0] == stride[1], "one stride for both dimensions");
    const int64_t oh = (input.size(2) + 2 * padding - weight.size(2)) / stride[0] + 1;
    const int64_t ow = (input.size(3) + 2 * padding - weight.size(3)) / stride[0] + 1;
    auto output = torch::empty({input.size(0), weight.size(0), oh, ow}, torch::TensorOptions().dtype(input.dtype()).device(input.device()));
    const dim3 threads(16, 16);
    const dim3 blocks((ow + 15) / 16, (oh + 15) / 16, input.size(0) * weight.size(0));
    AT_DISPATCH_FLOATING_TYPES(input.type(), "conv2d", ([&] {
        conv2d_kernel<scalar_t><<<blocks, threads>>>(
            input.packed_accessor32<scalar_t, 4, torch::RestrictPtrTraits>(),
            weight.packed_accessor32<scalar_t, 4, torch::RestrictPtrTraits>(),
            bias ? bias->data_ptr<scalar_t>() : nullptr,
            output.packed_accessor32<scalar_t, 4, torch::RestrictPtrTraits>(), static_cast<int>(stride[0]), static_cast<int>(padding));
    }));
    return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("conv2d", &conv2d, "2-d convolution", py::arg("input"), py::arg("weight"), py::arg("bias").none(true),
          py::arg("stride") = std::vector<int64_t>{1, 1}, py::arg("padding") = 0);
}
