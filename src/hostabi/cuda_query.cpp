// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA and MUSA runtime API that asks and configures, and the two-dimensional
// copies. Structures repeat those of the dialect header runtime_api.inc, which is for candidates
// only.
#include <algorithm>
#include <cstring>
#include <string>

#include "hostabi/api_macros.h"
#include "hostabi/session.h"
#include "hostabi/streams.h"

namespace abi = kuafu::hostabi;
using kuafu::hostabi::Current;
using kuafu::hostabi::Fail;

namespace {

constexpr int kVersionCuda = 12040;
constexpr size_t kPitchAlign = 512;

struct DeviceProp {
  char name[256];
  size_t total_global_bytes, shared_bytes_per_block;
  int registers_per_block, warp_size;
  size_t pitch_max;
  int threads_per_block_max, threads_dim_max[3], grid_size_max[3], clock_khz;
  size_t constant_bytes;
  int major, minor, multiprocessors, integrated, can_map_host_memory, concurrent_kernels;
  int memory_clock_khz, memory_bus_bits, l2_bytes, threads_per_sm_max;
  size_t shared_bytes_per_sm;
  int registers_per_sm, managed_memory, cooperative_launch;
  size_t shared_bytes_opt_in;
  int blocks_per_sm_max;
  size_t reserved_shared_bytes;
};

struct FuncAttributes {
  size_t shared_bytes, constant_bytes, local_bytes;
  int threads_per_block_max, registers, ptx_version, binary_version, cache_mode_ca;
  int dynamic_shared_bytes_max, shared_carveout;
};

int Known(int value) { return value == kuafu::device::kUnknown ? 0 : value; }

// Copies row by row; `one` copies one of them.
template <class One>
int Rows(size_t to_pitch, size_t from_pitch, size_t width, size_t height, One one) {
  if (width > to_pitch || width > from_pitch) return Fail(abi::kInvalidPitchValue);
  size_t bytes = 0;
  if (__builtin_mul_overflow(std::max(to_pitch, from_pitch), height, &bytes))
    return Fail(abi::kInvalidValue);
  for (size_t row = 0; row < height; ++row) {
    if (const int error = one(row); error != abi::kSuccess) return error;
  }
  return abi::kSuccess;
}

}  // namespace

KUAFU_API(int, MallocPitch, (void** out, size_t* pitch, size_t width, size_t height)) {
  size_t row = 0, bytes = 0;
  if (pitch == nullptr || __builtin_add_overflow(width, kPitchAlign - 1, &row))
    return Fail(abi::kInvalidValue);
  row = row / kPitchAlign * kPitchAlign;
  if (__builtin_mul_overflow(row, height, &bytes)) return Fail(abi::kMemoryAllocation);
  *pitch = row;
  return abi::Allocate(out, bytes, "cudaMallocPitch");
}
KUAFU_API(int, Memcpy2D,
          (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
           size_t height, int kind)) {
  if (width == 0 || height == 0) return abi::kSuccess;
  if (const int error = abi::CheckDirection(to, from, kind); error != abi::kSuccess) return error;
  return Rows(to_pitch, from_pitch, width, height, [&](size_t row) {
    return abi::Copy(static_cast<char*>(to) + row * to_pitch,
                     static_cast<const char*>(from) + row * from_pitch, width);
  });
}
KUAFU_API(int, Memcpy2DAsync,
          (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
           size_t height, int kind, void* stream)) {
  if (width == 0 || height == 0) return abi::kSuccess;
  if (const int error = abi::CheckDirection(to, from, kind); error != abi::kSuccess) return error;
  return Rows(to_pitch, from_pitch, width, height, [&](size_t row) {
    return abi::CopyInStream(static_cast<char*>(to) + row * to_pitch,
                             static_cast<const char*>(from) + row * from_pitch, width, stream);
  });
}
KUAFU_API(int, Memset2D, (void* to, size_t pitch, int value, size_t width, size_t height)) {
  return Rows(pitch, pitch, width, height, [&](size_t row) {
    return abi::Fill(static_cast<char*>(to) + row * pitch, value, width);
  });
}
KUAFU_API(int, MemPrefetchAsync, (const void*, size_t, int, void*)) { return abi::kSuccess; }
KUAFU_API(int, GetSymbolSize, (size_t* bytes, const void* symbol)) {
  if (bytes == nullptr) return Fail(abi::kInvalidValue);
  return Current().SymbolAddress(symbol, bytes) == nullptr ? Fail(abi::kInvalidSymbol)
                                                           : abi::kSuccess;
}

KUAFU_API(int, GetDeviceProperties, (DeviceProp * out, int device)) {
  if (out == nullptr) return Fail(abi::kInvalidValue);
  if (device != 0) return Fail(abi::kInvalidDevice);
  const auto& options = Current().options();
  const auto& p = *options.profile;
  *out = {};
  std::strncpy(out->name, p.title, sizeof out->name - 1);
  out->total_global_bytes = Current().memory().limit_bytes();
  out->shared_bytes_per_block = static_cast<size_t>(Known(p.shared_kib_per_block)) * 1024;
  out->registers_per_block = Known(p.registers_per_sm);
  out->warp_size = static_cast<int>(options.warp_width);
  out->pitch_max = INT32_MAX;
  out->threads_per_block_max = p.threads_per_block_max;
  const int block[3] = {1024, 1024, 64}, grid[3] = {INT32_MAX, 65535, 65535};
  std::memcpy(out->threads_dim_max, block, sizeof block);
  std::memcpy(out->grid_size_max, grid, sizeof grid);
  out->clock_khz = Known(p.clock_mhz) * 1000;
  out->l2_bytes = Known(p.l2_mib) << 20;
  out->constant_bytes = abi::kConstantBytes;
  out->major = static_cast<int>(p.arch / 100);
  out->minor = static_cast<int>(p.arch % 100 / 10);
  out->multiprocessors = Known(p.sm_count);
  out->can_map_host_memory = 0;
  out->concurrent_kernels = 1;
  out->threads_per_sm_max = Known(p.threads_per_sm_max);
  out->shared_bytes_per_sm = static_cast<size_t>(Known(p.shared_kib_per_sm)) * 1024;
  out->registers_per_sm = Known(p.registers_per_sm);
  out->managed_memory = 1;
  out->cooperative_launch = 1;
  out->shared_bytes_opt_in = static_cast<size_t>(Known(p.shared_kib_per_block_opt_in)) * 1024;
  out->blocks_per_sm_max = Known(p.blocks_per_sm_max);
  return abi::kSuccess;
}
KUAFU_API(int, FuncGetAttributes, (FuncAttributes * out, const void* stub)) {
  if (out == nullptr) return Fail(abi::kInvalidValue);
  const kuafu::isa::Function* kernel = Current().FindKernel(stub);
  if (kernel == nullptr) return Fail(abi::kInvalidDeviceFunction);
  const auto& p = *Current().options().profile;
  *out = {};
  out->shared_bytes = Current().StaticSharedBytes(stub);
  out->local_bytes = kernel->frame_bytes;
  out->threads_per_block_max =
      kernel->max_threads != 0
          ? std::min(static_cast<int>(kernel->max_threads), p.threads_per_block_max)
          : p.threads_per_block_max;
  out->ptx_version = out->binary_version = static_cast<int>(p.arch / 10);
  out->dynamic_shared_bytes_max =
      std::max(0, Known(p.shared_kib_per_block) * 1024 - static_cast<int>(out->shared_bytes));
  out->shared_carveout = -1;
  return abi::kSuccess;
}

KUAFU_API(int, OccupancyMaxActiveBlocksPerMultiprocessor,
          (int* blocks, const void* stub, int threads, size_t shared_bytes)) {
  const auto& p = *Current().options().profile;
  if (blocks == nullptr || threads <= 0) return Fail(abi::kInvalidValue);
  const kuafu::isa::Function* kernel = Current().FindKernel(stub);
  if (kernel != nullptr) shared_bytes += Current().StaticSharedBytes(stub);
  const int sms = p.sm_count == kuafu::device::kUnknown ? 1 : p.sm_count;
  *blocks = static_cast<int>(p.ResidentBlocks(static_cast<uint32_t>(threads), shared_bytes)) / sms;
  return abi::kSuccess;
}
KUAFU_API(int, OccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
          (int* blocks, const void* stub, int threads, size_t shared_bytes, unsigned)) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, stub, threads, shared_bytes);
}
// The largest block that keeps the most threads resident, and the grid that fills the device.
KUAFU_API(int, KuafuMaxPotentialBlockSize,
          (int* grid, int* block, const void* stub, size_t shared_bytes, int limit)) {
  if (grid == nullptr || block == nullptr) return Fail(abi::kInvalidValue);
  const kuafu::isa::Function* kernel = Current().FindKernel(stub);
  if (kernel == nullptr) return Fail(abi::kInvalidDeviceFunction);
  const auto& p = *Current().options().profile;
  const int width = static_cast<int>(Current().options().warp_width);
  int most = kernel->max_threads != 0
                 ? std::min(static_cast<int>(kernel->max_threads), p.threads_per_block_max)
                 : p.threads_per_block_max;
  if (limit > 0) most = std::min(most, limit);
  const int sms = p.sm_count == kuafu::device::kUnknown ? 1 : p.sm_count;
  int best = 0, best_blocks = 0;
  for (int threads = most < width ? most : most / width * width; threads > 0; threads -= width) {
    int blocks = 0;
    const int error =
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, stub, threads, shared_bytes);
    if (error != abi::kSuccess) return error;
    if (blocks * threads > best * best_blocks) best = threads, best_blocks = blocks;
  }
  *block = best;
  *grid = best_blocks * sms;
  return abi::kSuccess;
}

KUAFU_API(int, FuncSetSharedMemConfig, (const void*, int)) { return abi::kSuccess; }
KUAFU_API(int, DeviceSetCacheConfig, (int)) { return abi::kSuccess; }
KUAFU_API(int, DeviceSetSharedMemConfig, (int)) { return abi::kSuccess; }
KUAFU_API(int, DeviceReset, ()) {
  // Other tensors of the process live on the device: nothing of them may go.
  Current().streams().SynchronizeAll();
  return abi::kSuccess;
}
KUAFU_API(int, DeviceGetStreamPriorityRange, (int* least, int* greatest)) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return abi::kSuccess;
}
KUAFU_API(int, DriverGetVersion, (int* version)) {
  if (version == nullptr) return Fail(abi::kInvalidValue);
  *version = kVersionCuda;
  return abi::kSuccess;
}
KUAFU_API(int, RuntimeGetVersion, (int* version)) { return cudaDriverGetVersion(version); }
