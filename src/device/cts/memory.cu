// SPDX-License-Identifier: Apache-2.0
// Memory by the host: allocate, fill, copy in one and two dimensions, symbols, zero sizes, refused
// arguments, and how the last error is kept.
#include "check.h"

#include <cstdint>

__constant__ int constants[16];
__device__ int globals[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
__device__ double untouched;

__global__ void Symbols(int* out) {
  out[threadIdx.x] = constants[threadIdx.x] * 100 + globals[threadIdx.x];
  globals[threadIdx.x] = -int(threadIdx.x);
}
__global__ void Add(int* p, int n, int v) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += v;
}

static void Allocation() {
  void* p = nullptr;
  for (const size_t bytes : {size_t{1}, size_t{3}, size_t{255}, size_t{4096}, size_t{1} << 20}) {
    CTS_OK(cudaMalloc(&p, bytes));
    CTS_TRUE(p != nullptr);
    CTS_EQ(reinterpret_cast<uintptr_t>(p) % 256, uintptr_t{0});  // programming guide: at least 256
    CTS_OK(cudaFree(p));
  }
  CTS_OK(cudaFree(nullptr));
  // Nothing is asked for and nothing is given: success, with any pointer that may be freed.
  CTS_OK(cudaMalloc(&p, 0));
  CTS_OK(cudaFree(p));
  CTS_ERROR(cudaMalloc(static_cast<void**>(nullptr), 16), cudaErrorInvalidValue);
  CTS_ERROR(cudaGetLastError(), cudaErrorInvalidValue);
  p = &p;
  CTS_ERROR(cudaMalloc(&p, size_t{1} << 50), cudaErrorMemoryAllocation);
  CTS_ERROR(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
  CTS_ERROR(cudaPeekAtLastError(), cudaErrorMemoryAllocation);  // looking does not clear
  CTS_ERROR(cudaGetLastError(), cudaErrorMemoryAllocation);     // taking does
  CTS_OK(cudaGetLastError());
  // A call that succeeds leaves an older error in place.
  CTS_ERROR(cudaMalloc(&p, size_t{1} << 50), cudaErrorMemoryAllocation);
  CTS_OK(cudaMalloc(&p, 64));
  CTS_OK(cudaFree(p));
  CTS_ERROR(cudaGetLastError(), cudaErrorMemoryAllocation);

  size_t free_before = 0, total = 0, free_now = 0;
  CTS_OK(cudaMemGetInfo(&free_before, &total));
  CTS_TRUE(free_before <= total && total > 0);
  CTS_OK(cudaMalloc(&p, 32 << 20));
  CTS_OK(cudaMemGetInfo(&free_now, &total));
  CTS_TRUE(free_now < free_before);
  CTS_OK(cudaFree(p));

  int* host = nullptr;
  CTS_OK(cudaMallocHost(reinterpret_cast<void**>(&host), 4096));
  for (int i = 0; i < 1024; ++i) host[i] = i;
  CTS_EQ(host[1023], 1023);
  CTS_OK(cudaFreeHost(host));
  CTS_OK(cudaFreeHost(nullptr));
  int* managed = nullptr;
  CTS_OK(
      cudaMallocManaged(reinterpret_cast<void**>(&managed), 64 * sizeof(int), cudaMemAttachGlobal));
  for (int i = 0; i < 64; ++i) managed[i] = i;
  Add<<<1, 64>>>(managed, 64, 1000);
  CTS_DONE();
  for (int i = 0; i < 64; ++i) CTS_EQ(managed[i], 1000 + i);
  CTS_OK(cudaFree(managed));
}

static void Copies() {
  constexpr int kBytes = 1000;
  std::vector<unsigned char> in(kBytes), back(kBytes);
  for (int i = 0; i < kBytes; ++i) in[i] = static_cast<unsigned char>(cts::Mix(i));
  cts::Buffer<unsigned char> a(kBytes), b(kBytes);
  CTS_OK(cudaMemcpy(a.get(), in.data(), kBytes, cudaMemcpyHostToDevice));
  CTS_OK(cudaMemcpy(b.get(), a.get(), kBytes, cudaMemcpyDeviceToDevice));
  CTS_OK(cudaMemcpy(back.data(), b.get(), kBytes, cudaMemcpyDeviceToHost));
  CTS_TRUE(back == in);
  // Odd offsets and sizes, direction by address.
  CTS_OK(cudaMemset(b.get(), 0xa5, kBytes));
  CTS_OK(cudaMemcpy(b.get() + 13, in.data() + 7, 101, cudaMemcpyDefault));
  CTS_OK(cudaMemcpy(back.data(), b.get(), kBytes, cudaMemcpyDefault));
  for (int i = 0; i < kBytes; ++i) CTS_EQ(int(back[i]), i >= 13 && i < 114 ? int(in[i - 6]) : 0xa5);
  CTS_OK(cudaMemcpy(back.data(), in.data(), kBytes, cudaMemcpyHostToHost));
  CTS_TRUE(back == in);
  // A fill writes bytes: of a wider value only the lowest counts.
  CTS_OK(cudaMemset(a.get() + 1, 0x1ff, 3));
  CTS_OK(cudaMemset(a.get() + 8, -2, 2));
  CTS_OK(cudaMemcpy(back.data(), a.get(), 12, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 12; ++i)
    CTS_EQ(int(back[i]), i >= 1 && i < 4 ? 0xff : i == 8 || i == 9 ? 0xfe : int(in[i]));

  CTS_OK(cudaMemcpy(a.get(), in.data(), 0, cudaMemcpyHostToDevice));
  CTS_OK(cudaMemset(a.get(), 0, 0));
  CTS_OK(cudaMemcpyAsync(a.get(), in.data(), 0, cudaMemcpyHostToDevice, nullptr));
  CTS_OK(cudaMemcpy2D(a.get(), 10, in.data(), 10, 0, 5, cudaMemcpyHostToDevice));
  CTS_OK(cudaMemcpy2D(a.get(), 10, in.data(), 10, 5, 0, cudaMemcpyHostToDevice));
  CTS_ERROR(cudaMemcpy(nullptr, in.data(), 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  CTS_ERROR(cudaMemcpy(back.data(), nullptr, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  // The direction contradicts the addresses, or is none at all.
  CTS_ERROR(cudaMemcpy(back.data(), in.data(), 4, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  CTS_ERROR(cudaMemcpy(back.data(), in.data(), 4, cudaMemcpyKind(77)),
            cudaErrorInvalidMemcpyDirection);
  CTS_ERROR(cudaGetLastError(), cudaErrorInvalidMemcpyDirection);
  CTS_TRUE(std::memcmp(back.data() + 12, in.data() + 12, kBytes - 12) == 0);  // none of them wrote
}

static void TwoDimensions() {
  constexpr size_t kWidth = 37, kHeight = 11, kHostPitch = 50;
  std::vector<unsigned char> in(kHostPitch * kHeight), back(kHostPitch * kHeight, 0xee);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned char>(cts::Mix(unsigned(i)));
  unsigned char* p = nullptr;
  size_t pitch = 0;
  CTS_OK(cudaMallocPitch(reinterpret_cast<void**>(&p), &pitch, kWidth, kHeight));
  CTS_TRUE(pitch >= kWidth && pitch % 4 == 0);
  CTS_OK(cudaMemset2D(p, pitch, 0x11, kWidth, kHeight));
  CTS_OK(
      cudaMemcpy2D(p, pitch, in.data(), kHostPitch, kWidth - 2, kHeight, cudaMemcpyHostToDevice));
  CTS_OK(cudaMemcpy2D(back.data(), kHostPitch, p, pitch, kWidth, kHeight, cudaMemcpyDeviceToHost));
  for (size_t row = 0; row < kHeight; ++row)
    for (size_t i = 0; i < kHostPitch; ++i) {
      const size_t at = row * kHostPitch + i;
      CTS_EQ(int(back[at]), i >= kWidth ? 0xee : i >= kWidth - 2 ? 0x11 : int(in[at]));
    }
  CTS_ERROR(cudaMemcpy2D(p, kWidth - 1, in.data(), kHostPitch, kWidth, 2, cudaMemcpyHostToDevice),
            cudaErrorInvalidPitchValue);
  CTS_ERROR(cudaGetLastError(), cudaErrorInvalidPitchValue);
  CTS_OK(cudaFree(p));
}

static void Symbols() {
  int in[16], back[16];
  for (int i = 0; i < 16; ++i) in[i] = i * i;
  CTS_OK(cudaMemcpyToSymbol(constants, in, sizeof in));
  cts::Buffer<int> out(16);
  Symbols<<<1, 16>>>(out.get());
  CTS_DONE();
  const std::vector<int> got = out.Read();
  for (int i = 0; i < 16; ++i) CTS_EQ(got[i], i * i * 100 + i + 1);
  CTS_OK(cudaMemcpyFromSymbol(back, globals, sizeof back));
  for (int i = 0; i < 16; ++i) CTS_EQ(back[i], -i);
  // Part of a symbol, at an offset; the other elements stay.
  CTS_OK(cudaMemcpyToSymbol(constants, in + 9, 2 * sizeof(int), 3 * sizeof(int)));
  CTS_OK(cudaMemcpyFromSymbol(back, constants, 4 * sizeof(int), 2 * sizeof(int)));
  CTS_EQ(back[0], 4), CTS_EQ(back[1], 81), CTS_EQ(back[2], 100), CTS_EQ(back[3], 25);
  CTS_ERROR(cudaMemcpyToSymbol(constants, in, 4, sizeof constants), cudaErrorInvalidValue);
  CTS_ERROR(cudaMemcpyFromSymbol(back, globals, sizeof globals + 4), cudaErrorInvalidValue);
  cudaGetLastError();
  void* address = nullptr;
  size_t bytes = 0;
  CTS_OK(cudaGetSymbolAddress(&address, globals));
  CTS_OK(cudaGetSymbolSize(&bytes, globals));
  CTS_EQ(bytes, sizeof globals);
  CTS_OK(cudaMemset(address, 0, 8));
  CTS_OK(cudaMemcpyFromSymbol(back, globals, 12));
  CTS_EQ(back[0], 0), CTS_EQ(back[1], 0), CTS_EQ(back[2], -2);
  double zero = 1;
  CTS_OK(cudaMemcpyFromSymbol(&zero, untouched, sizeof zero));  // no initialiser: zero
  CTS_EQ(zero, 0.0);
}

static void Names() {
  const cudaError_t all[] = {cudaSuccess,
                             cudaErrorInvalidValue,
                             cudaErrorMemoryAllocation,
                             cudaErrorInvalidConfiguration,
                             cudaErrorInvalidPitchValue,
                             cudaErrorInvalidDeviceFunction,
                             cudaErrorIllegalAddress};
  const char* names[] = {"Success",
                         "ErrorInvalidValue",
                         "ErrorMemoryAllocation",
                         "ErrorInvalidConfiguration",
                         "ErrorInvalidPitchValue",
                         "ErrorInvalidDeviceFunction",
                         "ErrorIllegalAddress"};
  const int numbers[] = {0, 1, 2, 9, 12, 98, 700};
  for (int i = 0; i < 7; ++i) {
    const std::string name = cudaGetErrorName(all[i]);
    CTS_EQ(name.size() > 4 ? name.substr(4) : name, std::string(names[i]));
    CTS_EQ(int(all[i]), numbers[i]);
    CTS_TRUE(std::strlen(cudaGetErrorString(all[i])) > 0 && name != cudaGetErrorString(all[i]));
  }
}

int main() {
  Allocation();
  Copies();
  TwoDimensions();
  Symbols();
  Names();
  return cts::Finish();
}
