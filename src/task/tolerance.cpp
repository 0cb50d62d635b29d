// SPDX-License-Identifier: Apache-2.0
// Constants of the tolerance; the tests beside this try them in both directions.
#include "task/tolerance.h"

#include <algorithm>
#include <cmath>

namespace kuafu::task {
namespace {

constexpr double kReferenceErrors = 4;
constexpr double kValueRoundings = 2;
// A serial sum rounds K times at the size of its running sum: at most |y| for terms of one sign,
// sqrt(K) S for mixed signs. The errors add like a random walk, hence sqrt(K) times that size. E32
// does not cover it, because PyTorch sums in a tree. Sums are held in fp32 also where the result is
// fp16 or bfloat16, so that u is that of fp32 here.
constexpr double kTermRoundings = 1;
// A very inaccurate reference must not admit anything: at most this many u of the output's RMS.
constexpr double kCapRoundings = 16384;
constexpr double kCapRelative = 0.05;
// Below the normal numbers the error is absolute.
constexpr double kSubnormalRoundings = 2;

double SmallestSubnormal(tensor::DType dtype) {
  switch (dtype) {
    case tensor::DType::kF64: return std::ldexp(1.0, -1074);
    case tensor::DType::kF32: return std::ldexp(1.0, -149);
    case tensor::DType::kF16: return std::ldexp(1.0, -24);
    case tensor::DType::kBF16: return std::ldexp(1.0, -133);
    case tensor::DType::kI8:
    case tensor::DType::kU8:
    case tensor::DType::kI16:
    case tensor::DType::kI32:
    case tensor::DType::kI64:
    case tensor::DType::kBool: return 0;
  }
  return 0;
}

// 0 where the range is so small that such numbers are ordinary results.
double SmallestNormal(tensor::DType dtype) {
  switch (dtype) {
    case tensor::DType::kF64: return std::ldexp(1.0, -1022);
    case tensor::DType::kF32:
    case tensor::DType::kBF16: return std::ldexp(1.0, -126);
    default: return 0;
  }
}

}  // namespace

double Allowed(tensor::DType dtype, const ToleranceData& data) {
  const double u = tensor::UnitRoundoff(dtype);
  if (u == 0) return 0;
  const double u_sum = std::min(u, tensor::UnitRoundoff(tensor::DType::kF32));
  const double k = static_cast<double>(std::max<int64_t>(data.reduction, 1));
  const double size = std::fabs(data.y64);
  const double running = size + std::sqrt(k) * data.terms_rms;
  const double allowed = kReferenceErrors * data.e32 + u * kValueRoundings * size +
                         u_sum * kTermRoundings * std::sqrt(k) * running;
  // Subnormal results beside ordinary ones are the tail of an underflow: x / (1 + exp(-x)) gives
  // -0 where the truth is -1e-40. Where all results are that small they have to be right.
  const double underflow = std::min(SmallestNormal(dtype), u * data.output_rms);
  const double floor = std::max(kSubnormalRoundings * SmallestSubnormal(dtype), underflow);
  if (data.output_rms <= 0) return std::max(allowed, floor);
  const double cap = std::min(kCapRoundings * u, kCapRelative) * std::max(data.output_rms, size);
  return std::max(std::min(allowed, cap), floor);
}

}  // namespace kuafu::task
