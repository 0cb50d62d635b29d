// SPDX-License-Identifier: Apache-2.0
// Matrix products on the CPU: C = A B, or C += A B.
//
//   ops::Gemm<ops::F32>({a, m, k, k, 1}, {b, k, n, n, 1}, {c, m, n, n}, {});
//   const ops::PackedMatrix w = ops::PackB<ops::F32>({b, k, n, n, 1});   // weights: once
//   ops::Gemm<ops::F32>({a, m, k, k, 1}, w, {c, m, n, n}, {.team = &team});
//
// An element of C is the sum over k in an order that depends on K alone: neither the number of
// threads nor the other rows of a batch change a bit of it. On machines of one instruction set,
// that is; another one rounds in another order.
//
// Blocking and packing: Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication,
// ACM TOMS 34(3), 2008; with A packed for all rows and the block of B in L2.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/cpu.h"
#include "os/team.h"

namespace kuafu::ops {

struct BFloat {
  uint16_t bits = 0;
};

// Precisions: the types of A, B and C. Sums are of C's type.
struct F32 {
  using A = float;
  using B = float;
  using C = float;
  static constexpr const char* kName = "f32";
};
struct F64 {
  using A = double;
  using B = double;
  using C = double;
  static constexpr const char* kName = "f64";
};
struct BF16 {
  using A = BFloat;
  using B = BFloat;
  using C = float;
  static constexpr const char* kName = "bf16";
};
struct U8S8 {  // sums wrap around at 2^31
  using A = uint8_t;
  using B = int8_t;
  using C = int32_t;
  static constexpr const char* kName = "u8s8";
};

// Any strides, in elements: a transposed matrix is one with these two exchanged.
template <class T>
struct MatrixView {
  const T* data = nullptr;
  int64_t rows = 0, columns = 0;
  int64_t row_stride = 0, column_stride = 1;
};
// Elements of a row lie side by side.
template <class T>
struct MutableMatrix {
  T* data = nullptr;
  int64_t rows = 0, columns = 0;
  int64_t row_stride = 0;
};

struct GemmOptions {
  bool accumulate = false;   // add to C instead of setting it
  os::Team* team = nullptr;  // null = the caller alone
  const Cpu* cpu = nullptr;  // null = ThisCpu()
};

// B as the kernels of one instruction set read it. Copies share the memory.
struct PackedMatrix {
  std::shared_ptr<const void> data;
  int64_t rows = 0, columns = 0;
  const char* implementation = "";  // that packed it
};

// Preconditions (checked): sizes agree and are not negative. C must not overlap A or B. Any size
// may be 0; without a sum C is 0.
template <class P>
void Gemm(const MatrixView<typename P::A>& a, const MatrixView<typename P::B>& b,
          const MutableMatrix<typename P::C>& c, const GemmOptions& options);
template <class P>
PackedMatrix PackB(const MatrixView<typename P::B>& b, const Cpu* cpu = nullptr);
// `b` was packed for the same options.cpu.
template <class P>
void Gemm(const MatrixView<typename P::A>& a, const PackedMatrix& b,
          const MutableMatrix<typename P::C>& c, const GemmOptions& options);

// What one instruction set has for it.
template <class P>
struct GemmCode {
  int64_t (*packed_bytes)(int64_t rows, int64_t columns);
  void (*pack)(const MatrixView<typename P::B>& b, void* to);
  // `packed` or, if that is null, `b`. No size is 0.
  void (*run)(const MatrixView<typename P::A>& a, const MatrixView<typename P::B>& b,
              const void* packed, const MutableMatrix<typename P::C>& c,
              const GemmOptions& options);
  // For measurements, null for the reference: so many times the multiplications of the inner loop
  // without any memory, which is the peak; and the inner loop on data in the nearest caches. Both
  // give the operations of one time.
  double (*peak)(int64_t repeats);
  double (*inner_loop)(int64_t repeats);
};

// One way to do it. A list has the fastest first and the reference last.
template <class P>
struct GemmImplementation {
  const char* name;                     // "avx512"
  std::string (*declines)(const Cpu&);  // why it cannot run there; empty = it can
  GemmCode<P> code;
};
template <class P>
const std::vector<GemmImplementation<P>>& GemmList();

}  // namespace kuafu::ops
