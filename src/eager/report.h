// SPDX-License-Identifier: Apache-2.0
// How well modelled times agree with published ones: tables, one line of JSON for each task, a
// scatter plot.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "eager/fit.h"
#include "eager/model.h"

namespace kuafu::eager {

struct Judged {
  std::string id;
  int level = 0;
  std::string gpu;   // of the machine
  std::string mode;  // "eager" or "compile"
  bool fitted_on = false;
  double measured_ms = 0;
  Estimate estimate;
  double Ratio() const { return estimate.ms / measured_ms; }
};

Judged Judge(const Sample& sample, const std::string& mode, const Constants& constants);

// Rank correlation with averaged ranks; 0 for fewer than two.
double Spearman(std::span<const double> a, std::span<const double> b);
// Interpolated; `share` in [0, 1]. 0 for none.
double Quantile(std::vector<double> values, double share);

// {"id", "gpu", "mode", "part", "measured_ms", "modelled_ms", "label", ...}
Json ToJson(const Judged& judged);

struct ReportOptions {
  std::string constants_hash;
  std::vector<std::string> left_out;  // tasks without a list or a time, and why
};
// Markdown. Tables per GPU and mode: by part, level, kind of operator; the ten worst.
std::string Report(std::span<const Judged> all, const ReportOptions& options);

// Measured against modelled, logarithmic, with lines at a factor of 1.25.
std::string ScatterSvg(std::span<const Judged> all);

}  // namespace kuafu::eager
