// SPDX-License-Identifier: Apache-2.0
// Compares one output of a candidate with the fp64 truth. Pure; any number of threads.
//
//   CompareResult r = CompareOutput(y, expected);
//   if (!r.ok) Report(r.failure, r.Text());
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace kuafu::task {

// The truth about one output.
struct Expected {
  std::string name;
  tensor::DType dtype = tensor::DType::kF32;
  tensor::HostTensor y64;   // f64; for integer and bool outputs exactly in i64
  std::vector<double> e32;  // per row (all but the last dimension)
  // S, per row, or one value for all: for a plain sum the RMS of its terms. For anything else the
  // frontend adds the rounding noise of simple implementations to every operation and gives here
  // what comes out, in units of u K.
  std::vector<double> terms_rms;
  int64_t reduction = 1;  // K
  bool exact = false;     // sums of small integers: bits must match
};

enum class Mismatch : uint8_t { kNone, kWrongShape, kWrongDType, kWrongResult };
std::string_view MismatchName(Mismatch mismatch);

struct CompareResult {
  bool ok = true;
  Mismatch failure = Mismatch::kNone;
  std::string detail;  // of a wrong shape or dtype
  int64_t wrong_count = 0;
  tensor::Shape where;  // of the worst element
  double got = 0;
  double expected = 0;
  double allowed = 0;
  double error_max = 0;
  double error_ulp = 0;  // error_max in units of the last place of `expected`
  double error_rms = 0;
  // "12 of 64 values wrong, worst at [0, 3]: got 1, expected 2, error 1, allowed 1e-06".
  std::string Text() const;
};

// `known`, if not empty: a flag for each element; those with 0 are not compared.
CompareResult CompareOutput(const tensor::HostTensor& y, const Expected& expected,
                            std::span<const uint8_t> known = {});

// What torch.isclose(expected, got, rtol=tolerance, atol=tolerance) says of one value.
bool Close(double got, double expected, double tolerance);
// What torch.allclose(expected, y, rtol=tolerance, atol=tolerance) says, and shapes must be equal:
// the protocol of most public benchmarks. NaN is unequal to anything.
bool AllClose(const tensor::HostTensor& y, const Expected& expected, double tolerance);

}  // namespace kuafu::task
