#include <torch/extension.h>
#include <vector>

struct Params { int N, C, D, H, W, OC, KD, KH, KW, OD, OH, OW, s[3], p[3], groups; };

__global__ void conv_transpose3d_kernel(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b, float* __restrict__ y, const Params q, const size_t total) {
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < total; i += static_cast<size_t>(gridDim.x) * blockDim.x) {
        const int ow = i % q.OW, oh = i / q.OW % q.OH, od = i / q.OW / q.OH % q.OD;
        const int oc = i / q.OW / q.OH / q.OD % q.OC, n = i / q.OW / q.OH / q.OD / q.OC;
        const int per_group = q.OC / q.groups, g = oc / per_group, in_per_group = q.C / q.groups;
        float sum = b == nullptr ? 0.f : b[oc];
        for (int c = g * in_per_group; c < (g + 1) * in_per_group; ++c)
            for (int kd = 0; kd < q.KD; ++kd)
                for (int kh = 0; kh < q.KH; ++kh)
                    for (int kw = 0; kw < q.KW; ++kw) {
                        int d = od + q.p[0] - kd, h = oh + q.p[1] - kh, v = ow + q.p[2] - kw;
                        if (d % q.s[0] || h % q.s[1] || v % q.s[2]) continue;
                        d /= q.s[0]; h /= q.s[1]; v /= q.s[2];
                        if (d < 0 || d >= q.D || h < 0 || h >= q.H || v < 0 || v >= q.W) continue;
                        sum += x[(((size_t)n * q.C + c) * q.D + d) * q.H * q.W + h * q.W + v] *
                               w[(((size_t)c * per_group + oc % per_group) * q.KD + kd) * q.KH * q.KW + kh * q.KW + kw];
                    }
        y[i] = sum;
    }
}

torch::Tensor conv_transpose3d_cuda(torch::Tensor x, torch::Tensor w, torch::Tensor b, std::vector<int> stride, std::vector<int> padding, std::vector<int> output_padding, int groups) {
    Params q;
    q.N = x.size(0); q.C = x.size(1); q.D = x.size(2); q.H = x.size(3); q.W = x.size(4);
    q.OC = w.size(1) * groups; q.KD = w.size(2); q.KH = w.size(3); q.KW = w.size(4); q.groups = groups;
    int out[3];
    for (int i = 0; i < 3; ++i) {
        q.s[i] = stride[i]; q.p[i] = padding[i];
        out[i] = (x.size(2 + i) - 1) * stride[i] - 2 * padding[i] + w.size(2 + i) + output_padding[i];
    }
    q.OD = out[0]; q.OH = out[1]; q.OW = out[2];
    auto y = torch::empty({q.N, q.OC, q.OD, q.OH, q.OW}, x.options());
    const size_t total = y.numel();
    conv_transpose3d_kernel<<<std::min<size_t>((total + 255) / 256, 65535), 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.numel() > 0 ? b.data_ptr<float>() : nullptr, y.data_ptr<float>(), q, total);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("conv_transpose3d_cuda", &conv_transpose3d_cuda, "transposed convolution", py::arg("x"), py::arg("w"), py::arg("b"), py::arg("stride"), py::arg("padding"), py::arg("output_padding"), py::arg("groups") = 1);
}
