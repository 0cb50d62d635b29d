// SPDX-License-Identifier: Apache-2.0
// Which implementation multiplies here: the first of its list that does not decline.
#include <cstring>

#include "base/check.h"
#include "ops/aligned.h"
#include "ops/avx2/gemm.h"
#include "ops/avx512/gemm.h"
#include "ops/gemm.h"
#include "ops/ref/gemm.h"

namespace kuafu::ops {
namespace {

std::string Never(const Cpu&) { return ""; }
std::string NoAvx2(const Cpu& cpu) { return cpu.avx2 ? "" : "no AVX2 with FMA"; }
std::string NoAvx512(const Cpu& cpu) { return cpu.avx512 ? "" : "no AVX-512 (F, BW, VL, DQ)"; }
std::string NoBF16(const Cpu& cpu) { return cpu.avx512_bf16 ? "" : "no AVX512_BF16"; }
std::string NoVnni(const Cpu& cpu) { return cpu.avx512_vnni ? "" : "no AVX512_VNNI"; }

template <class P>
const GemmImplementation<P>& Chosen(const Cpu* cpu) {
  const Cpu& used = cpu == nullptr ? ThisCpu() : *cpu;
  for (const GemmImplementation<P>& one : GemmList<P>())
    if (one.declines(used).empty()) return one;
  KUAFU_CHECK(false, "the reference never declines");
  return GemmList<P>().back();
}

template <class P>
void Multiply(const MatrixView<typename P::A>& a, const MatrixView<typename P::B>& b,
              const PackedMatrix* packed, const MutableMatrix<typename P::C>& c,
              const GemmOptions& options) {
  KUAFU_CHECK(a.rows >= 0 && a.columns >= 0 && b.columns >= 0, "a negative size");
  KUAFU_CHECK(a.rows == c.rows && a.columns == b.rows && b.columns == c.columns,
              "the sizes of a product do not agree");
  if (c.rows == 0 || c.columns == 0) return;
  if (a.columns == 0) {
    for (int64_t i = 0; !options.accumulate && i < c.rows; ++i)
      std::memset(c.data + i * c.row_stride, 0,
                  static_cast<size_t>(c.columns) * sizeof(typename P::C));
    return;
  }
  const GemmImplementation<P>& one = Chosen<P>(options.cpu);
  KUAFU_CHECK(packed == nullptr || std::strcmp(packed->implementation, one.name) == 0,
              "B was packed for another instruction set");
  one.code.run(a, b, packed == nullptr ? nullptr : packed->data.get(), c, options);
}

}  // namespace

template <>
const std::vector<GemmImplementation<F32>>& GemmList() {
  static const std::vector<GemmImplementation<F32>> list = {{"avx512", NoAvx512, avx512::GemmF32()},
                                                            {"avx2", NoAvx2, avx2::GemmF32()},
                                                            {"reference", Never, ref::Gemm<F32>()}};
  return list;
}
template <>
const std::vector<GemmImplementation<F64>>& GemmList() {
  static const std::vector<GemmImplementation<F64>> list = {{"avx512", NoAvx512, avx512::GemmF64()},
                                                            {"avx2", NoAvx2, avx2::GemmF64()},
                                                            {"reference", Never, ref::Gemm<F64>()}};
  return list;
}
template <>
const std::vector<GemmImplementation<BF16>>& GemmList() {
  static const std::vector<GemmImplementation<BF16>> list = {
      {"avx512", NoBF16, avx512::GemmBF16()},
      {"avx2", NoAvx2, avx2::GemmBF16()},
      {"reference", Never, ref::Gemm<BF16>()}};
  return list;
}
template <>
const std::vector<GemmImplementation<U8S8>>& GemmList() {
  static const std::vector<GemmImplementation<U8S8>> list = {
      {"avx512", NoVnni, avx512::GemmU8S8()},
      {"avx2", NoAvx2, avx2::GemmU8S8()},
      {"reference", Never, ref::Gemm<U8S8>()}};
  return list;
}

template <class P>
void Gemm(const MatrixView<typename P::A>& a, const MatrixView<typename P::B>& b,
          const MutableMatrix<typename P::C>& c, const GemmOptions& options) {
  Multiply<P>(a, b, nullptr, c, options);
}

template <class P>
void Gemm(const MatrixView<typename P::A>& a, const PackedMatrix& b,
          const MutableMatrix<typename P::C>& c, const GemmOptions& options) {
  Multiply<P>(a, {nullptr, b.rows, b.columns, 0, 0}, &b, c, options);
}

template <class P>
PackedMatrix PackB(const MatrixView<typename P::B>& b, const Cpu* cpu) {
  KUAFU_CHECK(b.rows >= 0 && b.columns >= 0, "a negative size");
  const GemmImplementation<P>& one = Chosen<P>(cpu);
  void* const block = AllocateAligned(one.code.packed_bytes(b.rows, b.columns));
  one.code.pack(b, block);
  return {
      std::shared_ptr<const void>(block, [](const void* p) { FreeAligned(const_cast<void*>(p)); }),
      b.rows, b.columns, one.name};
}

#define INSTANTIATE(P)                                                                            \
  template void Gemm<P>(const MatrixView<P::A>&, const MatrixView<P::B>&,                         \
                        const MutableMatrix<P::C>&, const GemmOptions&);                          \
  template void Gemm<P>(const MatrixView<P::A>&, const PackedMatrix&, const MutableMatrix<P::C>&, \
                        const GemmOptions&);                                                      \
  template PackedMatrix PackB<P>(const MatrixView<P::B>&, const Cpu*)
INSTANTIATE(F32);
INSTANTIATE(F64);
INSTANTIATE(BF16);
INSTANTIATE(U8S8);
#undef INSTANTIATE

}  // namespace kuafu::ops
