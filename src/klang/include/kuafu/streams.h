// SPDX-License-Identifier: Apache-2.0
// Streams, guards and error checks of the dialect. There is one device, and the framework's stream is always
// the default one.
#pragma once

#include "kuafu/tensor.h"

struct cublasHandle_opaque;
namespace kuafu {
struct Stream {
  cudaStream_t raw = nullptr;
  cudaStream_t stream() const { return raw; }
  operator cudaStream_t() const { return raw; }
  int device_index() const { return 0; }
  c10::Device device() const { return {}; }
  int64_t id() const { return 0; }
  bool query() const { return true; }
  Stream unwrap() const { return *this; }
  void synchronize() const;
  bool operator==(const Stream& o) const { return raw == o.raw; }
};
struct Guard {
  Guard() = default;
  template <class T> Guard(const T&) {}
  c10::Device current_device() const { return {}; }
  c10::Device original_device() const { return {}; }
  template <class T> void reset_stream(T) {}
  template <class T> void set_index(T) {}
  template <class T> void set_device(T) {}
  template <class T> void reset_device(T) {}
};
inline Stream CurrentStream(int = -1) { return {}; }
}  // namespace kuafu
#ifdef KUAFU_MUSA
#define KUAFU_RUNTIME_NAMESPACE musa
#define KUAFU_RUNTIME_CLASS(name) MUSA##name
#define getCurrentKuafuStream getCurrentMUSAStream
#define getDefaultKuafuStream getDefaultMUSAStream
#define KUAFU_SET_STREAM setCurrentMUSAStream
#else
#define KUAFU_RUNTIME_NAMESPACE cuda
#define KUAFU_RUNTIME_CLASS(name) CUDA##name
#define getCurrentKuafuStream getCurrentCUDAStream
#define getDefaultKuafuStream getDefaultCUDAStream
#define KUAFU_SET_STREAM setCurrentCUDAStream
#endif
inline void kuafu::Stream::synchronize() const { KUAFU_RUNTIME(StreamSynchronize)(raw); }
namespace c10 { namespace KUAFU_RUNTIME_NAMESPACE {
using KUAFU_RUNTIME_CLASS(Stream) = kuafu::Stream;
using KUAFU_RUNTIME_CLASS(Guard) = kuafu::Guard;
using KUAFU_RUNTIME_CLASS(StreamGuard) = kuafu::Guard;
using OptionalCUDAGuard = kuafu::Guard;
using OptionalMUSAGuard = kuafu::Guard;
using KUAFU_RUNTIME_CLASS(MultiStreamGuard) = kuafu::Guard;
using OptionalCUDAStreamGuard = kuafu::Guard;
inline kuafu::Stream getCurrentKuafuStream(int device = -1) { return kuafu::CurrentStream(device); }
inline kuafu::Stream getDefaultKuafuStream(int device = -1) { return kuafu::CurrentStream(device); }
inline kuafu::Stream getStreamFromPool(bool = false, int = -1) { return {}; }
constexpr DeviceType kMUSA = kKuafuDevice;
inline int current_device() { return 0; }
inline int device_count() { return 1; }
inline void set_device(int) {}
inline void KUAFU_SET_STREAM(const kuafu::Stream&) {}
inline void stream_synchronize(cudaStream_t stream) { KUAFU_RUNTIME(StreamSynchronize)(stream); }
inline void device_synchronize() { KUAFU_RUNTIME(DeviceSynchronize)(); }
inline void Check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) kuafu::RaiseWords(what, ": ", KUAFU_RUNTIME(GetErrorString)(error), "");
}
}  // namespace KUAFU_RUNTIME_NAMESPACE
}  // namespace c10
namespace at {
namespace KUAFU_RUNTIME_NAMESPACE {
using namespace c10::KUAFU_RUNTIME_NAMESPACE;
inline KUAFU_RUNTIME(DeviceProp)* getCurrentDeviceProperties() {
  static KUAFU_RUNTIME(DeviceProp) properties;
  c10::KUAFU_RUNTIME_NAMESPACE::Check(KUAFU_RUNTIME(GetDeviceProperties)(&properties, 0), "device properties");
  return &properties;
}
inline KUAFU_RUNTIME(DeviceProp)* getDeviceProperties(int) { return getCurrentDeviceProperties(); }
inline struct cublasHandle_opaque* getCurrentCUDABlasHandle() { kuafu_library_call("at::cuda::getCurrentCUDABlasHandle"); }
inline int warp_size() { return getCurrentDeviceProperties()->warpSize; }
inline bool is_available() { return true; }
namespace detail {
constexpr int CUDA_NUM_THREADS = 1024;
inline int GET_BLOCKS(int64_t n, int64_t threads = CUDA_NUM_THREADS) { return (int)((n + threads - 1) / threads); }
}  // namespace detail
}  // namespace KUAFU_RUNTIME_NAMESPACE
using DeviceGuard = kuafu::Guard;
using OptionalDeviceGuard = kuafu::Guard;
inline std::optional<Device> device_of(const Tensor& t) { return t.device(); }
// There is no gradient to switch off.
struct NoGradGuard {};
struct AutoGradMode { explicit AutoGradMode(bool) {} };
struct AutoNonVariableTypeMode { explicit AutoNonVariableTypeMode(bool = true) {} };
struct AutoDispatchBelowADInplaceOrView {};
struct AutoDispatchBelowAutograd {};
}  // namespace at
namespace c10 {
using DeviceGuard = kuafu::Guard;
using OptionalDeviceGuard = kuafu::Guard;
using at::device_of;
struct InferenceMode { explicit InferenceMode(bool = true) {} };
}  // namespace c10
namespace torch {
using c10::InferenceMode;
namespace KUAFU_RUNTIME_NAMESPACE {
using namespace at::KUAFU_RUNTIME_NAMESPACE;
inline void synchronize(int = -1) { device_synchronize(); }
}  // namespace KUAFU_RUNTIME_NAMESPACE
}  // namespace torch
#define KUAFU_CHECK_CALL(call) ::c10::KUAFU_RUNTIME_NAMESPACE::Check((call), #call)
#define C10_CUDA_CHECK(call) KUAFU_CHECK_CALL(call)
#define AT_CUDA_CHECK(call) KUAFU_CHECK_CALL(call)
#define C10_MUSA_CHECK(call) KUAFU_CHECK_CALL(call)
#define TORCH_MUSA_CHECK(call) KUAFU_CHECK_CALL(call)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() ::c10::KUAFU_RUNTIME_NAMESPACE::Check(KUAFU_RUNTIME(GetLastError)(), "kernel launch")
#define C10_MUSA_KERNEL_LAUNCH_CHECK() C10_CUDA_KERNEL_LAUNCH_CHECK()
#define TORCH_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_KERNEL_LAUNCH_CHECK()
#define TORCH_CUDA_CHECK(call) KUAFU_CHECK_CALL(call)
#define C10_CUDA_ERROR_HANDLED(call) (call)
#define C10_CUDA_IGNORE_ERROR(call) ((void)(call))
#define C10_CUDA_CLEAR_ERROR() ((void)KUAFU_RUNTIME(GetLastError)())
#define C10_CUDA_CHECK_WARN(call) ((void)(call))
