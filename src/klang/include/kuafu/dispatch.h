// SPDX-License-Identifier: Apache-2.0
// TORCH_CHECK and its kin, AT_DISPATCH_*, and the macros of c10 that kernels use.
#pragma once

#include "kuafu/atomics.h"
#include "kuafu/tensor.h"

#define TORCH_CHECK(condition, ...)                                                                   \
  do {                                                                                                \
    if (!(condition)) ::kuafu::CheckFailed("check failed: " #condition " ", ##__VA_ARGS__);           \
  } while (0)
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) ((void)0)
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b))
#define TORCH_CHECK_NE(a, b) TORCH_CHECK((a) != (b))
#define TORCH_CHECK_LT(a, b) TORCH_CHECK((a) < (b))
#define TORCH_CHECK_LE(a, b) TORCH_CHECK((a) <= (b))
#define TORCH_CHECK_GT(a, b) TORCH_CHECK((a) > (b))
#define TORCH_CHECK_GE(a, b) TORCH_CHECK((a) >= (b))
#define TORCH_CHECK_NOTNULL(a) TORCH_CHECK((a) != nullptr)
#define TORCH_CHECK_VALUE TORCH_CHECK
#define TORCH_CHECK_TYPE TORCH_CHECK
#define TORCH_CHECK_INDEX TORCH_CHECK
#define TORCH_CHECK_NOT_IMPLEMENTED TORCH_CHECK
#define TORCH_CHECK_ARG(condition, number, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define TORCH_WARN(...) ((void)0)
#define TORCH_WARN_ONCE(...) ((void)0)
#define AT_ASSERTM TORCH_CHECK
#define AT_ASSERT TORCH_CHECK
#define AT_CHECK TORCH_CHECK
#define AT_ERROR(...) ::kuafu::Raise(::kuafu::Concat(__VA_ARGS__))
#define C10_THROW_ERROR(kind, ...) ::kuafu::Raise(::kuafu::Concat(__VA_ARGS__))
#define KUAFU_CASE(Name, T, ...) case ::at::ScalarType::Name: { using scalar_t [[maybe_unused]] = T; return __VA_ARGS__(); }
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                           \
  [&] {                                                                                               \
    const ::at::ScalarType kuafu_type = TYPE;                                                         \
    switch (kuafu_type) {                                                                             \
      __VA_ARGS__                                                                                     \
      default: ::kuafu::RaiseWords(NAME, " is not implemented for '", ::c10::toString(kuafu_type), "'");   \
    }                                                                                                 \
  }()
namespace kuafu {
template <c10::ScalarType> struct CppType;
#define KUAFU_TYPE(T, name) template <> struct CppType<c10::ScalarType::name> { typedef T type; };
KUAFU_TYPE(uint8_t, Byte) KUAFU_TYPE(int8_t, Char) KUAFU_TYPE(int16_t, Short) KUAFU_TYPE(int, Int) KUAFU_TYPE(int64_t, Long)
KUAFU_TYPE(__half, Half) KUAFU_TYPE(float, Float) KUAFU_TYPE(double, Double) KUAFU_TYPE(bool, Bool) KUAFU_TYPE(__nv_bfloat16, BFloat16)
#undef KUAFU_TYPE
}  // namespace kuafu
#define AT_DISPATCH_CASE(enumerator, ...)                                                             \
  case enumerator: { using scalar_t [[maybe_unused]] = ::kuafu::CppType<enumerator>::type; return __VA_ARGS__(); }
#define KUAFU_FLOATING(...) KUAFU_CASE(Float, float, __VA_ARGS__) KUAFU_CASE(Double, double, __VA_ARGS__)
#define KUAFU_INTEGRAL(...)                                                                           \
  KUAFU_CASE(Byte, uint8_t, __VA_ARGS__) KUAFU_CASE(Char, int8_t, __VA_ARGS__) KUAFU_CASE(Short, int16_t, __VA_ARGS__) \
  KUAFU_CASE(Int, int, __VA_ARGS__) KUAFU_CASE(Long, int64_t, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_FLOATING(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...)                                          \
  AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_FLOATING(__VA_ARGS__) KUAFU_CASE(Half, ::at::Half, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(A, TYPE, NAME, ...)                                            \
  AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_FLOATING(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(A, B, TYPE, NAME, ...)                                        \
  AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_FLOATING(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...)                                           \
  AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_CASE(Half, ::at::Half, __VA_ARGS__) KUAFU_CASE(BFloat16, ::at::BFloat16, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_INTEGRAL(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_FLOATING(__VA_ARGS__) KUAFU_INTEGRAL(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(A, TYPE, NAME, ...)                                                 \
  AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_FLOATING(__VA_ARGS__) KUAFU_INTEGRAL(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(A, B, TYPE, NAME, ...)                                             \
  AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_FLOATING(__VA_ARGS__) KUAFU_INTEGRAL(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__))

#define AT_DISPATCH_FLOATING_TYPES_AND3(A, B, C, TYPE, NAME, ...)                                     \
  AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_FLOATING(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__) \
                     AT_DISPATCH_CASE(C, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(A, B, C, TYPE, NAME, ...)                                          \
  AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_FLOATING(__VA_ARGS__) KUAFU_INTEGRAL(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__) \
                     AT_DISPATCH_CASE(B, __VA_ARGS__) AT_DISPATCH_CASE(C, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(A, TYPE, NAME, ...)                                            \
  AT_DISPATCH_SWITCH(TYPE, NAME, KUAFU_INTEGRAL(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
// There are no complex tensors.
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES AT_DISPATCH_FLOATING_TYPES
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX AT_DISPATCH_ALL_TYPES
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1 AT_DISPATCH_FLOATING_TYPES_AND
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2 AT_DISPATCH_FLOATING_TYPES_AND2
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2 AT_DISPATCH_ALL_TYPES_AND2
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3 AT_DISPATCH_ALL_TYPES_AND3
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) KUAFU_FLOATING(__VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...) KUAFU_INTEGRAL(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...) KUAFU_FLOATING(__VA_ARGS__) KUAFU_INTEGRAL(__VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND(A, ...) KUAFU_FLOATING(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...) KUAFU_FLOATING(__VA_ARGS__) KUAFU_CASE(Half, ::at::Half, __VA_ARGS__)
#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...)                                                      \
  [&] {                                                                                               \
    if ((TYPE) == ::at::ScalarType::Int) { using index_t [[maybe_unused]] = int32_t; return __VA_ARGS__(); } \
    if ((TYPE) == ::at::ScalarType::Long) { using index_t [[maybe_unused]] = int64_t; return __VA_ARGS__(); } \
    ::kuafu::RaiseWords(NAME, " is not implemented for '", ::c10::toString(TYPE), "' as index");      \
  }()

// The wider type in which a kernel should add up.
namespace at {
template <class T, bool device = true> struct AccumulateType { using type = std::conditional_t<std::is_integral_v<T>, int64_t, std::conditional_t<sizeof(T) == 8, double, float>>; };
template <class T, bool device = true> using acc_type = typename AccumulateType<T, device>::type;
template <class T> using opmath_type = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
template <class T> __host__ __device__ constexpr T ceil_div(T a, T b) { return (a + b - 1) / b; }
}  // namespace at

#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_RESTRICT __restrict__
#define C10_ALWAYS_INLINE inline __attribute__((always_inline))
#define C10_UNUSED [[maybe_unused]]
#define C10_NODISCARD [[nodiscard]]
#define C10_LIKELY(x) (__builtin_expect(static_cast<bool>(x), 1))
#define C10_UNLIKELY(x) (__builtin_expect(static_cast<bool>(x), 0))
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(n) __launch_bounds__(n)
#define C10_LAUNCH_BOUNDS_2(n, m) __launch_bounds__(n, m)
#define C10_WARP_SIZE 32
#define C10_API
#define TORCH_API
#define CUDA_KERNEL_LOOP_TYPE(i, n, T)                                                                \
  for (T i = (T)blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += (T)blockDim.x * gridDim.x)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
#define CUDA_1D_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
template <class T> __device__ inline T gpuAtomicAdd(T* p, T v) { return atomicAdd(p, v); }
template <class T> __device__ inline void gpuAtomicAddNoReturn(T* p, T v) { atomicAdd(p, v); }
