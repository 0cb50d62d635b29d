// SPDX-License-Identifier: Apache-2.0
// The tensor interface, dispatch and the entry call.
#include <torch/extension.h>
#include <cuda_fp16.h>
template <class T> __global__ void k(const T* __restrict__ x, T* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] * T(2.0f); }
__global__ void acc(torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> a) { a[threadIdx.y][threadIdx.x] += 1.0f; }
torch::Tensor f(torch::Tensor x, c10::optional<torch::Tensor> b, double eps, int64_t n, std::vector<int64_t> s) {
  TORCH_CHECK(x.is_cuda(), "x must be on the device, got ", x.dim(), x.sizes(), x.scalar_type());
  TORCH_CHECK(x.is_contiguous());
  auto y = torch::empty({x.size(0), -1 + 2}, torch::TensorOptions().dtype(torch::kFloat32).device(x.device()));
  y = torch::empty_like(x); auto z = torch::zeros({4}, x.options());
  const at::cuda::OptionalCUDAGuard guard(device_of(x));
  AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, x.scalar_type(), "f", [&] {
    k<scalar_t><<<(x.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
  });
  acc<<<1, dim3(4, 4)>>>(x.packed_accessor32<float, 2, torch::RestrictPtrTraits>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
std::tuple<at::Tensor, at::Tensor> g(const at::Tensor& x) { return {x, x.view({-1})}; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f, "doc", py::arg("x") = 1); }
#include <kuafu/entry.h>
extern "C" void kuafu_entry(KuafuCall* c) { kuafu::Invoke(&f, c); kuafu::Invoke(&g, c); }
