#include <torch/extension.h>
#include <cfloat>

__global__ void argmax_kernel(const float* __restrict__ x, int64_t* __restrict__ out, int outer, int dim, int inner) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= outer * inner) return;
    int o = idx / inner, i = idx % inner;
    float best = -FLT_MAX;
    int64_t at = 0;
    for (int d = 0; d < dim; ++d) {
        float v = x[(o * dim + d) * inner + i];
        if (v > best) { best = v; at = d; }
    }
    out[idx] = at;
}

torch::Tensor argmax_cuda(torch::Tensor x, int64_t dim) {
    if (dim < 0) dim += x.dim();
    std::vector<int64_t> shape;
    int outer = 1, inner = 1;
    for (int64_t d = 0; d < x.dim(); ++d) {
        if (d < dim) outer *= x.size(d);
        if (d > dim) inner *= x.size(d);
        if (d != dim) shape.push_back(x.size(d));
    }
    auto out = torch::empty(shape, torch::dtype(torch::kLong).device(x.device()));
    const int n = outer * inner;
    argmax_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<int64_t>(), outer, x.size(dim), inner);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("argmax_cuda", &argmax_cuda, py::arg("x"), py::arg("dim") = -1); }
