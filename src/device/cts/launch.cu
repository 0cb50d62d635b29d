// SPDX-License-Identifier: Apache-2.0
// Launches: indices in one to three dimensions, arguments by value, limits and the error each
// gives, dynamic shared memory with and without opt-in. A refused launch must not run and must not
// break the next one.

// FINDING: launch_invalid
#include "check.h"

__global__ void Indices(unsigned* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  out[block * threads + thread] = (blockIdx.x << 20) | (blockIdx.y << 16) | (blockIdx.z << 12) |
                                  (threadIdx.x << 6) | (threadIdx.y << 3) | threadIdx.z;
}
__global__ void Sizes(unsigned* out) {
  if (threadIdx.x + threadIdx.y + threadIdx.z + blockIdx.x + blockIdx.y + blockIdx.z != 0) return;
  const unsigned v[7] = {gridDim.x,  gridDim.y,  gridDim.z,         blockDim.x,
                         blockDim.y, blockDim.z, unsigned(warpSize)};
  for (int i = 0; i < 7; ++i) out[i] = v[i];
}
__global__ void Count(unsigned* runs) { atomicAdd(runs, 1u); }
__global__ void LastOf(unsigned* out) {
  if (blockIdx.x == gridDim.x - 1 && blockIdx.y == gridDim.y - 1) {
    out[0] = blockIdx.x;
    out[1] = blockIdx.y;
  }
}
__global__ void Dynamic(unsigned* out, unsigned words) {
  extern __shared__ unsigned memory[];
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) memory[i] = i * 3 + 1;
  __syncthreads();
  unsigned sum = 0;
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) sum += memory[words - 1 - i];
  atomicAdd(out, sum);
}
__global__ void __launch_bounds__(64) Bounded(unsigned* runs) { atomicAdd(runs, 1u); }

// Alignment and padding inside the parameter block.
struct Mixed {
  char a;
  double b;
  short c[3];
  float4 d;
  char e;
};
struct Large {
  int v[900];  // 3600 of the 4096 bytes that every device takes
};
__global__ void Arguments(char first, Mixed m, bool flag, long long l, float f, double* out) {
  out[0] = first, out[1] = m.a, out[2] = m.b, out[3] = m.c[2], out[4] = m.d.w, out[5] = m.e;
  out[6] = flag, out[7] = double(l), out[8] = f;
}
__global__ void LargeArgument(Large large, int* out) {
  out[threadIdx.x] = large.v[899 - threadIdx.x];
}
template <class F, class... A>
__global__ void Apply(F f, int* out, A... a) {
  out[threadIdx.x] = f(int(threadIdx.x), a...);
}

static void CheckIndices(dim3 grid, dim3 block) {
  const unsigned blocks = grid.x * grid.y * grid.z, threads = block.x * block.y * block.z;
  cts::Buffer<unsigned> out(blocks * threads, 0xff);
  Indices<<<grid, block>>>(out.get());
  CTS_DONE();
  const std::vector<unsigned> got = out.Read();
  unsigned at = 0;
  for (unsigned bz = 0; bz < grid.z; ++bz)
    for (unsigned by = 0; by < grid.y; ++by)
      for (unsigned bx = 0; bx < grid.x; ++bx)
        for (unsigned z = 0; z < block.z; ++z)
          for (unsigned y = 0; y < block.y; ++y)
            for (unsigned x = 0; x < block.x; ++x)
              CTS_EQ(got[at++], (bx << 20) | (by << 16) | (bz << 12) | (x << 6) | (y << 3) | z);
  cts::Buffer<unsigned> sizes(7);
  Sizes<<<grid, block>>>(sizes.get());
  const std::vector<unsigned> s = sizes.Read();
  CTS_EQ(s[0], grid.x), CTS_EQ(s[1], grid.y), CTS_EQ(s[2], grid.z);
  CTS_EQ(s[3], block.x), CTS_EQ(s[4], block.y), CTS_EQ(s[5], block.z);
  CTS_EQ(s[6], unsigned(cts::WarpSize()));
}

// A launch that must be refused; the error is told once and the device stays usable.
#define REFUSED(launch, ...)                       \
  do {                                             \
    cts::Buffer<unsigned> runs(1);                 \
    launch;                                        \
    CTS_ERROR(cudaPeekAtLastError(), __VA_ARGS__); \
    CTS_ERROR(cudaGetLastError(), __VA_ARGS__);    \
    CTS_OK(cudaGetLastError());                    \
    CTS_OK(cudaDeviceSynchronize());               \
    CTS_EQ(runs.Read()[0], 0u);                    \
    Count<<<1, 3>>>(runs.get());                   \
    CTS_OK(cudaGetLastError());                    \
    CTS_EQ(runs.Read()[0], 3u);                    \
  } while (0)

static unsigned Limit(cudaDeviceAttr attribute) {
  int value = 0;
  CTS_OK(cudaDeviceGetAttribute(&value, attribute, 0));
  return unsigned(value);
}

int main() {
  CheckIndices(dim3(1), dim3(1));
  CheckIndices(dim3(5), dim3(33));
  CheckIndices(dim3(2, 3), dim3(7, 5));
  CheckIndices(dim3(2, 3, 4), dim3(5, 2, 3));
  CheckIndices(dim3(1, 1, 3), dim3(1, 1, 7));

  // Everything at its limit: block x, y, z and grid y. Grid x: more than the 65535 of old devices.
  const unsigned threads = Limit(cudaDevAttrMaxThreadsPerBlock);
  const unsigned bx = Limit(cudaDevAttrMaxBlockDimX), by = Limit(cudaDevAttrMaxBlockDimY);
  const unsigned bz = Limit(cudaDevAttrMaxBlockDimZ);
  const unsigned gy = Limit(cudaDevAttrMaxGridDimY), gz = Limit(cudaDevAttrMaxGridDimZ);
  {
    cts::Buffer<unsigned> runs(1);
    Count<<<1, threads>>>(runs.get());
    CTS_OK(cudaGetLastError());
    Count<<<1, dim3(bx < threads ? bx : threads)>>>(runs.get());
    CTS_OK(cudaGetLastError());
    Count<<<1, dim3(1, by < threads ? by : threads)>>>(runs.get());
    CTS_OK(cudaGetLastError());
    Count<<<1, dim3(1, 1, bz)>>>(runs.get());
    CTS_OK(cudaGetLastError());
    CTS_EQ(runs.Read()[0],
           threads + (bx < threads ? bx : threads) + (by < threads ? by : threads) + bz);
    cts::Buffer<unsigned> last(2);
    LastOf<<<65600, 1>>>(last.get());
    CTS_DONE();
    CTS_EQ(last.Read()[0], 65599u);
    LastOf<<<dim3(1, gy), 1>>>(last.get());
    CTS_DONE();
    CTS_EQ(last.Read()[1], gy - 1);
  }
  REFUSED((Count<<<1, threads + 1>>>(runs.get())), cudaErrorInvalidConfiguration);
  REFUSED((Count<<<1, dim3(1, 1, bz + 1)>>>(runs.get())), cudaErrorInvalidConfiguration);
  REFUSED((Count<<<1, dim3(threads / 2, 3)>>>(runs.get())), cudaErrorInvalidConfiguration);
  REFUSED((Count<<<1, 0>>>(runs.get())), cudaErrorInvalidConfiguration);
  REFUSED((Count<<<1, dim3(8, 0)>>>(runs.get())), cudaErrorInvalidConfiguration);
  REFUSED((Count<<<0, 1>>>(runs.get())), cudaErrorInvalidConfiguration);
  REFUSED((Count<<<dim3(1, 0, 1), 1>>>(runs.get())), cudaErrorInvalidConfiguration);
  REFUSED((Count<<<dim3(1, gy + 1), 1>>>(runs.get())), cudaErrorInvalidConfiguration);
  REFUSED((Count<<<dim3(1, 1, gz + 1), 1>>>(runs.get())), cudaErrorInvalidConfiguration);
  // A product that wraps to a small number in 32 bits is still too large.
  REFUSED((Count<<<1, dim3(1u << 16, 1u << 16)>>>(runs.get())), cudaErrorInvalidConfiguration);
  // More threads than __launch_bounds__ promised: refused, the code is not documented.
  REFUSED((Bounded<<<1, 65>>>(runs.get())), cudaErrorInvalidConfiguration,
          cudaErrorLaunchOutOfResources, cudaErrorInvalidValue);
  {
    cts::Buffer<unsigned> runs(1);
    Bounded<<<1, 64>>>(runs.get());
    CTS_DONE();
    CTS_EQ(runs.Read()[0], 64u);
  }
  const void* nothing = nullptr;
  CTS_ERROR(cudaLaunchKernel(nothing, dim3(1), dim3(1), nullptr, 0, nullptr),
            cudaErrorInvalidDeviceFunction);
  CTS_ERROR(cudaGetLastError(), cudaErrorInvalidDeviceFunction);

  // Dynamic shared memory: the whole of what needs no opt-in, one byte more, and with opt-in. The
  // headers document cudaErrorInvalidConfiguration for more than the device has; the driver of an
  // NVIDIA device says cudaErrorInvalidValue.
  const unsigned plain = Limit(cudaDevAttrMaxSharedMemoryPerBlock);
  int opt_in = 0;
  const bool known =
      cudaDeviceGetAttribute(&opt_in, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0) == cudaSuccess &&
      opt_in > 0;
  cudaGetLastError();
  const auto dynamic = [](size_t bytes) {
    cts::Buffer<unsigned> out(1);
    const unsigned words = unsigned(bytes / 4);
    Dynamic<<<1, 128, bytes>>>(out.get(), words);
    CTS_DONE();
    unsigned sum = 0;
    for (unsigned i = 0; i < words; ++i) sum += i * 3 + 1;
    CTS_EQ(out.Read()[0], sum);
  };
  dynamic(4), dynamic(1000), dynamic(plain);
  REFUSED((Dynamic<<<1, 32, plain + 4>>>(runs.get(), 1)), cudaErrorInvalidConfiguration,
          cudaErrorInvalidValue);
  if (known && unsigned(opt_in) > plain) {
    const auto attribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CTS_ERROR(cudaFuncSetAttribute(Dynamic, attribute, opt_in + 1), cudaErrorInvalidValue);
    CTS_ERROR(cudaGetLastError(), cudaErrorInvalidValue);
    CTS_ERROR(cudaFuncSetAttribute(Dynamic, attribute, -1), cudaErrorInvalidValue);
    cudaGetLastError();
    CTS_OK(cudaFuncSetAttribute(Dynamic, attribute, opt_in));
    dynamic(plain + 4), dynamic(size_t(opt_in));
    REFUSED((Dynamic<<<1, 32, opt_in + 4>>>(runs.get(), 1)), cudaErrorInvalidConfiguration,
            cudaErrorInvalidValue);
    CTS_OK(cudaFuncSetAttribute(Dynamic, attribute, int(plain) + 1024));
    dynamic(plain + 1024);
    REFUSED((Dynamic<<<1, 32, plain + 1028>>>(runs.get(), 1)), cudaErrorInvalidConfiguration,
            cudaErrorInvalidValue);
  }

  cts::Buffer<double> values(9);
  const Mixed mixed = {'x', 2.5, {1, 2, -3}, make_float4(1, 2, 3, 4.5f), 'y'};
  Arguments<<<1, 1>>>('q', mixed, true, 1ll << 40, 0.25f, values.get());
  CTS_DONE();
  const std::vector<double> v = values.Read();
  const double expected[9] = {'q', 'x', 2.5, -3, 4.5, 'y', 1, double(1ll << 40), 0.25};
  for (int i = 0; i < 9; ++i) CTS_EQ(v[i], expected[i]);
  // The same by cudaLaunchKernel, from an array of pointers.
  cts::Buffer<double> again(9);
  char first = 'q';
  Mixed m = mixed;
  bool flag = true;
  long long l = 1ll << 40;
  float f = 0.25f;
  double* out = again.get();
  void* arguments[] = {&first, &m, &flag, &l, &f, &out};
  CTS_OK(cudaLaunchKernel(reinterpret_cast<const void*>(Arguments), dim3(1), dim3(1), arguments, 0,
                          nullptr));
  CTS_DONE();
  const std::vector<double> w = again.Read();
  for (int i = 0; i < 9; ++i) CTS_EQ(w[i], expected[i]);

  Large large;
  for (int i = 0; i < 900; ++i) large.v[i] = i * 7;
  cts::Buffer<int> ints(64);
  LargeArgument<<<1, 64>>>(large, ints.get());
  large.v[899] = -1;  // the arguments were copied by the launch
  CTS_DONE();
  const std::vector<int> n = ints.Read();
  for (int i = 0; i < 64; ++i) CTS_EQ(n[i], (899 - i) * 7);
  const int scale = 5;
  Apply<<<1, 64>>>([=] __device__(int i, int a, short b) { return i * scale + a - b; }, ints.get(),
                   100, short(7));
  CTS_DONE();
  const std::vector<int> k = ints.Read();
  for (int i = 0; i < 64; ++i) CTS_EQ(k[i], i * 5 + 93);
  return cts::Finish();
}
