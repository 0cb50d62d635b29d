// SPDX-License-Identifier: Apache-2.0
// The one place that says how far an answer may be from the fp64 truth:
//   |y - y64| <= 4 E32 + 2 u(dtype) |y64| + u(fp32) sqrt(K) (|y64| + sqrt(K) S)
// capped relative to the output's RMS, and never below the spacing of subnormal numbers. For fp64
// outputs the second u is that of fp64.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace kuafu::task {

struct ToleranceData {
  double e32 = 0;         // largest error of PyTorch's own fp32 result in the output row
  double terms_rms = 0;   // S: RMS of the summed terms, as it shows in the output
  int64_t reduction = 1;  // K: the longest reduction on the path
  double output_rms = 0;  // of the finite part of y64
  double y64 = 0;         // the true value
};

double Allowed(tensor::DType dtype, const ToleranceData& data);

}  // namespace kuafu::task
