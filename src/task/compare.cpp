// SPDX-License-Identifier: Apache-2.0
// NaN matches NaN only, an infinity the same infinity only.
#include "task/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "task/tolerance.h"

namespace kuafu::task {
namespace {

using tensor::HostTensor;

double FiniteRms(const HostTensor& t) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < t.count(); ++i) {
    const double value = t.At(i);
    if (!std::isfinite(value)) continue;
    sum += value * value;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

double PerRow(const std::vector<double>& values, int64_t row) {
  if (values.empty()) return 0;
  return values[static_cast<size_t>(std::min<int64_t>(row, std::ssize(values) - 1))];
}

tensor::Shape IndexOf(int64_t flat, const tensor::Shape& shape) {
  tensor::Shape index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    index[i] = flat % shape[i];
    flat /= shape[i];
  }
  return index;
}

// Infinite when exactly one is special, or they are different specials.
double Distance(double got, double want) {
  if (std::isnan(got) && std::isnan(want)) return 0;
  if (got == want) return 0;
  if (!std::isfinite(got) || !std::isfinite(want)) return INFINITY;
  return std::fabs(got - want);
}

}  // namespace

std::string_view MismatchName(Mismatch mismatch) {
  switch (mismatch) {
    case Mismatch::kNone: return "none";
    case Mismatch::kWrongShape: return "wrong_shape";
    case Mismatch::kWrongDType: return "wrong_dtype";
    case Mismatch::kWrongResult: return "wrong_result";
  }
  return "none";
}

std::string CompareResult::Text() const {
  if (ok) return "within tolerance";
  if (failure != Mismatch::kWrongResult) return detail;
  char text[256];
  std::snprintf(text, sizeof(text), ": got %.9g, expected %.9g, error %.3g, allowed %.3g", got,
                expected, error_max, allowed);
  return std::to_string(wrong_count) + " values wrong, worst at " + tensor::ShapeText(where) + text;
}

CompareResult CompareOutput(const HostTensor& y, const Expected& want,
                            std::span<const uint8_t> known) {
  CompareResult result;
  if (y.shape() != want.y64.shape()) {
    result.ok = false;
    result.failure = Mismatch::kWrongShape;
    result.detail = "shape " + tensor::ShapeText(y.shape()) + " instead of " +
                    tensor::ShapeText(want.y64.shape());
    return result;
  }
  if (y.dtype() != want.dtype) {
    result.ok = false;
    result.failure = Mismatch::kWrongDType;
    result.detail = "dtype " + std::string(tensor::DTypeName(y.dtype())) + " instead of " +
                    std::string(tensor::DTypeName(want.dtype));
    return result;
  }
  const bool exact = want.exact || !tensor::IsFloat(want.dtype);
  ToleranceData data;
  data.reduction = want.reduction;
  data.output_rms = exact ? 0 : FiniteRms(want.y64);
  const int64_t row_size = y.shape().empty() ? 1 : std::max<int64_t>(y.shape().back(), 1);
  const bool integers = !tensor::IsFloat(want.dtype);
  double worst = -1;  // error / allowed
  double squares = 0;
  int64_t compared = 0;
  for (int64_t i = 0; i < y.count(); ++i) {
    if (!known.empty() && known[static_cast<size_t>(i)] == 0) continue;
    ++compared;
    const double truth = want.y64.At(i);
    const double got = y.At(i);
    double error = Distance(got, truth);
    if (integers && y.AtInt(i) != want.y64.AtInt(i)) error = std::max(error, 1.0);
    data.e32 = PerRow(want.e32, i / row_size);
    data.terms_rms = PerRow(want.terms_rms, i / row_size);
    data.y64 = std::isfinite(truth) ? truth : 0;
    const double allowed = exact ? 0 : Allowed(want.dtype, data);
    if (std::isfinite(error)) squares += error * error;
    if (error > allowed) ++result.wrong_count;
    const double ratio = error == 0 ? 0 : (allowed > 0 ? error / allowed : INFINITY);
    if (ratio > worst || (ratio == worst && error > result.error_max)) {
      worst = ratio;
      result.where = IndexOf(i, y.shape());
      result.got = got;
      result.expected = truth;
      result.allowed = allowed;
      result.error_max = error;
    }
  }
  result.ok = result.wrong_count == 0;
  if (!result.ok) result.failure = Mismatch::kWrongResult;
  if (compared > 0) result.error_rms = std::sqrt(squares / static_cast<double>(compared));
  const double unit = 2 * tensor::UnitRoundoff(want.dtype);
  if (unit > 0 && result.expected != 0 && std::isfinite(result.expected)) {
    result.error_ulp = result.error_max / std::ldexp(unit, std::ilogb(result.expected));
  }
  return result;
}

bool Close(double got, double expected, double tolerance) {
  if (got == expected) return true;
  if (!std::isfinite(got) || !std::isfinite(expected)) return false;
  // Not symmetric: the tolerance is relative to the second argument, which is the candidate's.
  return std::fabs(got - expected) <= tolerance + tolerance * std::fabs(got);
}

bool AllClose(const HostTensor& y, const Expected& want, double tolerance) {
  if (y.shape() != want.y64.shape()) return false;
  for (int64_t i = 0; i < y.count(); ++i) {
    if (!Close(y.At(i), want.y64.At(i), tolerance)) return false;
  }
  return true;
}

}  // namespace kuafu::task
