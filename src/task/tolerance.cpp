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
// does not cover it, because PyTorch sums in a tree.
constexpr double kTermRoundings = 1;
// A very inaccurate reference must not admit anything: at most this many u of the output's RMS.
constexpr double kCapRoundings = 16384;

}  // namespace

double Allowed(tensor::DType dtype, const ToleranceData& data) {
  const double u = tensor::UnitRoundoff(dtype);
  if (u == 0) return 0;
  const double k = static_cast<double>(std::max<int64_t>(data.reduction, 1));
  const double size = std::fabs(data.y64);
  const double running = size + std::sqrt(k) * data.terms_rms;
  const double allowed = kReferenceErrors * data.e32 +
                         u * (kValueRoundings * size + kTermRoundings * std::sqrt(k) * running);
  const double cap = std::min(kCapRoundings * u, 0.05) * std::max(data.output_rms, size);
  return data.output_rms > 0 ? std::min(allowed, cap) : allowed;
}

}  // namespace kuafu::task
