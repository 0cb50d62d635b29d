// SPDX-License-Identifier: Apache-2.0
// What the device says of itself: properties and attributes agree, limits are usable, occupancy is
// consistent with them. A figure that a simulated profile does not know is 0 or refused.
#include "check.h"

__global__ void Plain(int* p) { p[threadIdx.x] = 1; }
__global__ void __launch_bounds__(128) Bounded(int* p) {
  __shared__ int cells[512];
  cells[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = cells[127 - threadIdx.x];
}

static void Same(cudaDeviceAttr attribute, long long property, const char* name) {
  int value = 0;
  const cudaError_t error = cudaDeviceGetAttribute(&value, attribute, 0);
  if (error == cudaErrorNotSupported && property == 0) {
    cudaGetLastError();
    return;
  }
  cts::Equal(error, cudaSuccess, __FILE__, __LINE__, name);
  cts::Equal((long long)value, property, __FILE__, __LINE__, name);
}

int main() {
  int count = 0, device = -1;
  CTS_OK(cudaGetDeviceCount(&count));
  CTS_TRUE(count >= 1);
  CTS_OK(cudaGetDevice(&device));
  CTS_EQ(device, 0);
  CTS_OK(cudaSetDevice(0));
  CTS_ERROR(cudaSetDevice(count), cudaErrorInvalidDevice);
  CTS_ERROR(cudaGetLastError(), cudaErrorInvalidDevice);
  CTS_ERROR(cudaSetDevice(-1), cudaErrorInvalidDevice);
  cudaGetLastError();
  CTS_OK(cudaGetDevice(&device));
  CTS_EQ(device, 0);

  cudaDeviceProp p;
  CTS_OK(cudaGetDeviceProperties(&p, 0));
  CTS_ERROR(cudaGetDeviceProperties(&p, count), cudaErrorInvalidDevice);
  int ignored = 0;
  CTS_ERROR(cudaDeviceGetAttribute(&ignored, cudaDevAttrWarpSize, count), cudaErrorInvalidDevice);
  CTS_ERROR(cudaDeviceGetAttribute(&ignored, cudaDeviceAttr(99999), 0), cudaErrorInvalidValue);
  cudaGetLastError();
  CTS_OK(cudaGetDeviceProperties(&p, 0));
  CTS_TRUE(std::strlen(p.name) > 0 && std::strlen(p.name) < sizeof p.name);
#define SAME(attribute, property) Same(cudaDevAttr##attribute, (long long)p.property, #property)
  SAME(MaxThreadsPerBlock, maxThreadsPerBlock);
  SAME(MaxBlockDimX, maxThreadsDim[0]), SAME(MaxBlockDimY, maxThreadsDim[1]),
      SAME(MaxBlockDimZ, maxThreadsDim[2]);
  SAME(MaxGridDimX, maxGridSize[0]), SAME(MaxGridDimY, maxGridSize[1]),
      SAME(MaxGridDimZ, maxGridSize[2]);
  SAME(MaxSharedMemoryPerBlock, sharedMemPerBlock);
  SAME(MaxSharedMemoryPerBlockOptin, sharedMemPerBlockOptin);
  SAME(MaxSharedMemoryPerMultiprocessor, sharedMemPerMultiprocessor);
  SAME(TotalConstantMemory, totalConstMem), SAME(WarpSize, warpSize), SAME(MaxPitch, memPitch);
  SAME(MaxRegistersPerBlock, regsPerBlock),
      SAME(MaxRegistersPerMultiprocessor, regsPerMultiprocessor);
  SAME(MultiProcessorCount, multiProcessorCount), SAME(ConcurrentKernels, concurrentKernels);
  SAME(L2CacheSize, l2CacheSize), SAME(MaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor);
  SAME(ComputeCapabilityMajor, major), SAME(ComputeCapabilityMinor, minor),
      SAME(ManagedMemory, managedMemory);
  SAME(CooperativeLaunch, cooperativeLaunch),
      SAME(MaxBlocksPerMultiprocessor, maxBlocksPerMultiProcessor);
  SAME(Integrated, integrated), SAME(CanMapHostMemory, canMapHostMemory);

  CTS_TRUE(p.warpSize == 32 || p.warpSize == 64 || p.warpSize == 128);
  CTS_TRUE(p.maxThreadsPerBlock % p.warpSize == 0 && p.maxThreadsPerBlock >= 1024);
  CTS_TRUE(p.maxThreadsDim[0] <= p.maxThreadsPerBlock || p.maxThreadsDim[0] == 1024);
  CTS_TRUE(p.sharedMemPerBlock >= 16384 && p.totalConstMem >= 65536);
  if (p.sharedMemPerBlockOptin) CTS_TRUE(p.sharedMemPerBlockOptin >= p.sharedMemPerBlock);
  if (p.sharedMemPerMultiprocessor)
    CTS_TRUE(p.sharedMemPerMultiprocessor >= p.sharedMemPerBlockOptin);
  if (p.maxThreadsPerMultiProcessor)
    CTS_TRUE(p.maxThreadsPerMultiProcessor >= p.maxThreadsPerBlock);
  size_t free_bytes = 0, total_bytes = 0;
  CTS_OK(cudaMemGetInfo(&free_bytes, &total_bytes));
  CTS_TRUE(total_bytes <= p.totalGlobalMem && free_bytes <= total_bytes);

  cudaFuncAttributes attributes;
  CTS_OK(cudaFuncGetAttributes(&attributes, Bounded));
  CTS_EQ(attributes.maxThreadsPerBlock, 128);
  CTS_TRUE(attributes.sharedSizeBytes == 2048);
  CTS_OK(cudaFuncGetAttributes(&attributes, Plain));
  CTS_EQ(attributes.sharedSizeBytes, size_t{0});
  CTS_TRUE(attributes.maxThreadsPerBlock >= 128 &&
           attributes.maxThreadsPerBlock <= p.maxThreadsPerBlock);
  int few = 0, many = 0, limited = 0, grid = 0, block = 0;
  CTS_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&few, Plain, p.maxThreadsPerBlock, 0));
  CTS_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&many, Plain, p.warpSize, 0));
  CTS_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&limited, Plain, p.warpSize,
                                                       p.sharedMemPerBlock));
  CTS_TRUE(few >= 1 && few <= many && limited >= 1 && limited <= many);
  if (p.maxThreadsPerMultiProcessor)
    CTS_TRUE(few * p.maxThreadsPerBlock <= p.maxThreadsPerMultiProcessor);
  CTS_OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, Bounded, 0, 0));
  CTS_TRUE(block > 0 && block <= 128 && grid > 0);
  int driver = 0, runtime = 0;
  CTS_OK(cudaDriverGetVersion(&driver));
  CTS_OK(cudaRuntimeGetVersion(&runtime));
  CTS_TRUE(driver >= runtime && runtime >= 1000);
  return cts::Finish();
}
