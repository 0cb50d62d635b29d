// SPDX-License-Identifier: Apache-2.0
// Coordinate descent over the logarithms of the constants. What counts is the logarithm of the
// ratio of modelled and measured time, squared when small and linear when large, so that one odd
// task does not decide.
#include "eager/fit.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/hash.h"

namespace kuafu::eager {
namespace {

constexpr double kOutlier = 0.3;
constexpr double kFirstStep = 1.3, kLastStep = 1.01;

double Huber(double error) {
  const double size = std::abs(error);
  return size <= kOutlier ? size * size : kOutlier * (2 * size - kOutlier);
}

double Loss(std::span<const Sample> samples, const Constants& constants,
            const FitOptions& options) {
  double loss = 0;
  for (const Sample& sample : samples) {
    const Estimate estimate = Model(*sample.list, sample.machine, constants);
    loss += Huber(std::log(estimate.ms / sample.measured_ms));
  }
  for (int i = 0; i < kConstantCount; ++i) {
    const ConstantInfo& info = kConstants[i];
    const double half = 0.5 * std::log(info.high / info.low);
    const double off = (std::log(constants.at(i)) - 0.5 * std::log(info.high * info.low)) / half;
    loss += options.prior * off * off;
  }
  return loss;
}

}  // namespace

bool IsForFitting(std::string_view id) {
  return Hash64("kuafu time model, split 1: " + std::string(id)) % 3 == 0;
}

FitResult Fit(std::span<const Sample> samples, const Constants& start, const FitOptions& options) {
  FitResult result{.constants = start};
  result.loss_before = Loss(samples, start, options);
  double best = result.loss_before;
  std::vector<double> steps(static_cast<size_t>(kConstantCount), kFirstStep);
  for (int round = 0; round < options.rounds; ++round) {
    for (int i = 0; i < kConstantCount; ++i) {
      double& step = steps[static_cast<size_t>(i)];
      if (step < kLastStep) continue;
      const double before = result.constants.at(i);
      bool better = false;
      for (const double factor : {step, 1 / step}) {
        Constants trial = result.constants;
        trial.Set(i, std::clamp(before * factor, kConstants[i].low, kConstants[i].high));
        if (trial.at(i) == before) continue;
        const double loss = Loss(samples, trial, options);
        if (loss >= best) continue;
        best = loss;
        result.constants = trial;
        better = true;
        break;
      }
      if (!better) step = std::sqrt(step);
    }
  }
  // What a report prints is what is frozen.
  for (int i = 0; i < kConstantCount; ++i) {
    const double digits = std::pow(10, 2 - std::floor(std::log10(result.constants.at(i))));
    result.constants.Set(i, std::round(result.constants.at(i) * digits) / digits);
  }
  result.loss_after = Loss(samples, result.constants, options);
  return result;
}

}  // namespace kuafu::eager
