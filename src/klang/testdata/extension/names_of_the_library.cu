// Functions that are called as the library's are, with everything of torch and at visible.
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/util/irange.h>
#include <torch/nn/functional.h>
#include <iostream>
#include <numeric>
using namespace torch;
using namespace at;
torch::Tensor relu2(torch::Tensor x) { return x; }
torch::Tensor softmax(torch::Tensor x) { return x; }
torch::Tensor layer_norm(torch::Tensor x, torch::Tensor w, torch::Tensor b, float eps) { return x; }
torch::Tensor forward(torch::Tensor x) { x = softmax(x); return layer_norm(x, x, x, 1e-5f); }
template <typename T> __device__ T sigmoid(T x) { return T(1) / (T(1) + exp(-x)); }
__device__ float relu(float x) { return max(x, 0.f); }
__device__ float tanh_fast(float x) { return tanh(x) + sigmoid(x) + relu(x) + abs(x) + pow(x, 2.f) + floor(x) + min(x, 1.f) + max(1, 2); }
__global__ void k(float* x) { x[threadIdx.x] = tanh_fast(x[threadIdx.x]); float acc = 0; for (int i = 0; i < 4; ++i) acc += exp(x[i]); x[0] = acc; }
torch::Tensor g(torch::Tensor x, int rows) {
  auto sizes = x.sizes();
  int64_t m = std::max<int64_t>(sizes[0], rows), n = std::min(rows, 5);
  TORCH_CHECK(x.size(0) == rows, "bad ", rows, " vs ", x.size(0), " of ", x.sizes(), x.scalar_type(), x.dtype(), x.device(), x.options().dtype());
  TORCH_CHECK(x.scalar_type() == at::kFloat || x.scalar_type() == at::ScalarType::Half);
  auto y = torch::empty({m, n}, torch::TensorOptions().dtype(x.dtype()).device(x.device()));
  auto z = torch::zeros({x.size(0), x.size(1), 3}, x.options().dtype(torch::kFloat));
  at::Tensor w = at::zeros({rows}, x.options());
  auto o = torch::empty({}, x.options());
  if (x.device().type() == torch::kCUDA && x.device() == y.device()) k<<<1, 32>>>(x.data_ptr<float>());
  if (x.get_device() != y.get_device()) AT_ERROR("other device");
  if (x.dtype() == torch::kFloat16 || x.dtype().toScalarType() == torch::kBFloat16) return x.to(torch::kFloat32);
  std::cout << x.sizes() << " " << x.dtype() << std::endl;
  const float s = x.item<float>() + x.item().toFloat() + x[0][0].item<float>();
  x.index_put_({0}, s);
  auto p = x.data_ptr<float>();
  auto acc = y.accessor<float, 2>();
  int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<int64_t>());
  std::vector<int64_t> shape(sizes.begin(), sizes.end());
  shape.back() = total;
  torch::Tensor none;
  if (!none.defined()) none = torch::zeros(shape, x.options());
  return torch::empty(at::IntArrayRef(shape), x.options());
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) { module.def("g", &g, "doc"); module.def("forward", &forward); module.def("softmax", &::softmax); }
