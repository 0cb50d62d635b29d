// SPDX-License-Identifier: Apache-2.0
// Mathematics called by names without a suffix, as templates over a tensor's type do, and kernels in
// namespaces whose names end in digits (their mangled names run into the length of the kernel's own).
#include <cmath>
#include <cstdio>

template <typename T>
__global__ void overloads(T* out, T x, T y) {
  int quotient = 0, row = 0;
  out[row++] = acosh(x + T(1));
  out[row++] = asinh(x) + atanh(x / T(2));
  out[row++] = cbrt(x) + copysign(x, -y);
  out[row++] = exp2(x) + expm1(x) + log1p(x) + log2(x) + logb(y);
  out[row++] = fdim(y, x) + fma(x, y, x) + fmax(x, y) - fmin(x, y);
  out[row++] = hypot(x, y) + remainder(y, x) + nextafter(x, y);
  out[row++] = rint(y) + round(y) + trunc(y) + nearbyint(y);
  out[row++] = lgamma(y) + tgamma(y);
  out[row++] = T(lround(y)) + T(llround(y)) + T(lrint(y)) + T(llrint(y)) + T(ilogb(y));
  out[row++] = scalbn(x, 2) + scalbln(x, 2l) + remquo(y, x, &quotient);
  out[row++] = erf(x) + erfc(x) + rsqrt(y) + rcbrt(y);
  out[row++] = std::erf(x) + std::log1p(x) + std::fma(x, y, x);
}

constexpr int kRows = 12;

namespace {
__global__ void set(int* out) { out[0] = 1; }
}  // namespace
namespace v1 {
__global__ void set(int* out) { out[1] = 2; }
namespace layer22 {
template <int N>
__global__ void set_to(int* out) { out[2] = N; }
}  // namespace layer22
}  // namespace v1
extern "C" __global__ void plain9(int* out) { out[3] = 4; }
static __global__ void internal_kernel(int* out) { out[4] = 5; }
namespace v1 { namespace { __global__ void hidden19(int* out) { out[5] = 6; } } }

int main() {
  double* wide;
  float* narrow;
  int* marks;
  cudaMallocManaged(&wide, kRows * sizeof(double));
  cudaMallocManaged(&narrow, kRows * sizeof(float));
  cudaMallocManaged(&marks, 6 * sizeof(int));
  overloads<double><<<1, 1>>>(wide, 0.75, 3.25);
  overloads<float><<<1, 1>>>(narrow, 0.75f, 3.25f);
  set<<<1, 1>>>(marks);
  v1::set<<<1, 1>>>(marks);
  v1::layer22::set_to<3><<<1, 1>>>(marks);
  plain9<<<1, 1>>>(marks);
  internal_kernel<<<1, 1>>>(marks);
  v1::hidden19<<<1, 1>>>(marks);
  if (cudaDeviceSynchronize() != cudaSuccess) return 2;
  int bad = 0;
  for (int i = 0; i < kRows; ++i) {
    if (!(std::fabs(wide[i] - narrow[i]) <= 1e-5 * (1 + std::fabs(wide[i])))) {
      std::printf("row %d: %g and %g\n", i, wide[i], narrow[i]);
      ++bad;
    }
  }
  if (std::fabs(wide[0] - std::acosh(1.75)) > 1e-12) ++bad;
  for (int i = 0; i < 6; ++i) {
    if (marks[i] != i + 1) {
      std::printf("kernel %d did not run: %d\n", i, marks[i]);
      ++bad;
    }
  }
  return bad;
}
