// SPDX-License-Identifier: Apache-2.0
#include "ops/ref/gemm.h"

#include <bit>
#include <type_traits>

namespace kuafu::ops::ref {
namespace {

template <class T>
auto Value(T x) {
  if constexpr (std::is_same_v<T, BFloat>)
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16));
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<double>(x);
  else
    return static_cast<int64_t>(x);
}

template <class P>
int64_t PackedBytes(int64_t rows, int64_t columns) {
  return rows * columns * static_cast<int64_t>(sizeof(typename P::B));
}

template <class P>
void Pack(const MatrixView<typename P::B>& b, void* to) {
  auto* out = static_cast<typename P::B*>(to);
  for (int64_t k = 0; k < b.rows; ++k)
    for (int64_t j = 0; j < b.columns; ++j) *out++ = b.data[k * b.row_stride + j * b.column_stride];
}

template <class P>
void Run(const MatrixView<typename P::A>& a, const MatrixView<typename P::B>& b, const void* packed,
         const MutableMatrix<typename P::C>& c, const GemmOptions& options) {
  const MatrixView<typename P::B> from =
      packed == nullptr ? b
                        : MatrixView<typename P::B>{static_cast<const typename P::B*>(packed),
                                                    a.columns, c.columns, c.columns, 1};
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.columns; ++j) {
      typename P::C& to = c.data[i * c.row_stride + j];
      auto sum = Value(options.accumulate ? to : typename P::C{});
      for (int64_t k = 0; k < a.columns; ++k) {
        sum += Value(a.data[i * a.row_stride + k * a.column_stride]) *
               Value(from.data[k * from.row_stride + j * from.column_stride]);
      }
      to = static_cast<typename P::C>(sum);
    }
  }
}

}  // namespace

template <class P>
GemmCode<P> Gemm() {
  return {PackedBytes<P>, Pack<P>, Run<P>, nullptr, nullptr};
}
template GemmCode<F32> Gemm();
template GemmCode<F64> Gemm();
template GemmCode<BF16> Gemm();
template GemmCode<U8S8> Gemm();

}  // namespace kuafu::ops::ref
