// SPDX-License-Identifier: Apache-2.0
// Statistics and tables.
#include "eager/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

namespace kuafu::eager {
namespace {

constexpr size_t kWorst = 10;

std::vector<double> Ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(values[a], a) < std::pair(values[b], b); });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + end - 1) / 2;
    begin = end;
  }
  return ranks;
}

using Group = std::vector<const Judged*>;

std::string Format(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string Row(const std::string& name, const Group& group) {
  if (group.empty()) return "";
  std::vector<double> measured, modelled, errors, ratios;
  int within = 0;
  for (const Judged* one : group) {
    measured.push_back(one->measured_ms);
    modelled.push_back(one->estimate.ms);
    errors.push_back(std::abs(one->Ratio() - 1) * 100);
    ratios.push_back(one->Ratio());
    within += std::abs(std::log(one->Ratio())) <= std::log(one->estimate.uncertainty) ? 1 : 0;
  }
  const auto count = static_cast<double>(group.size());
  return "| " + name + " | " + std::to_string(group.size()) + " | " +
         (group.size() < 3 ? "" : Format("%.3f", Spearman(measured, modelled))) + " | " +
         Format("%.0f %%", Quantile(errors, 0.5)) + " | " +
         Format("%.0f %%", Quantile(errors, 0.9)) + " | " + Format("%.2f", Quantile(ratios, 0.5)) +
         " | " + Format("%.0f %%", 100.0 * within / count) + " |\n";
}

constexpr const char* kHead =
    "| | tasks | Spearman | median error | 90th percentile | median modelled/published | within "
    "its uncertainty |\n|---|---|---|---|---|---|---|\n";

Group Select(const Group& group, const std::function<bool(const Judged&)>& wanted) {
  Group found;
  for (const Judged* one : group) {
    if (wanted(*one)) found.push_back(one);
  }
  return found;
}

std::string Reason(const Judged& one) {
  const Estimate& e = one.estimate;
  std::string text = Format("%.0f %% ", 100 * e.dominant_share) +
                     std::string(task::OperatorKindName(e.dominant)) + ", " +
                     std::to_string(e.operators.size()) + " operations";
  if (e.host_ms > 0.3 * e.ms)
    text += Format(", waits %.0f %% for the host", 100 * e.host_ms / e.ms);
  double most = 0;
  Bound bound = Bound::kMemory;
  for (const OperatorTime& time : e.operators) {
    if (time.us <= most) continue;
    most = time.us;
    bound = time.bound;
  }
  return text + "; the longest is bound by " + std::string(BoundName(bound));
}

std::string Worst(Group group) {
  std::sort(group.begin(), group.end(), [](const Judged* a, const Judged* b) {
    return std::pair(-std::abs(std::log(a->Ratio())), a->id) <
           std::pair(-std::abs(std::log(b->Ratio())), b->id);
  });
  group.resize(std::min(group.size(), kWorst));
  std::string text =
      "| task | published ms | modelled ms | what the model sees |\n|---|---|---|---|\n";
  for (const Judged* one : group) {
    text += "| " + one->id + " | " + Format("%.3g", one->measured_ms) + " | " +
            Format("%.3g", one->estimate.ms) + " | " + Reason(*one) + " |\n";
  }
  return text;
}

std::string Section(const std::string& title, const Group& group) {
  const Group held = Select(group, [](const Judged& j) { return !j.fitted_on; });
  std::string text = "\n## " + title + "\n\n" + kHead;
  text += Row("fitted on", Select(group, [](const Judged& j) { return j.fitted_on; }));
  text += Row("**held out**", held);
  for (int level = 1; level <= 4; ++level) {
    text += Row("held out, level " + std::to_string(level),
                Select(held, [&](const Judged& j) { return j.level == level; }));
  }
  for (int kind = 0; kind < task::kOperatorKinds; ++kind) {
    const auto wanted = static_cast<task::OperatorKind>(kind);
    text += Row("held out, mostly " + std::string(task::OperatorKindName(wanted)),
                Select(held, [&](const Judged& j) { return j.estimate.dominant == wanted; }));
  }
  return text + "\nThe ten worst of those held out:\n\n" + Worst(held);
}

}  // namespace

Judged Judge(const Sample& sample, const std::string& mode, const Constants& constants) {
  return {.id = sample.id,
          .level = sample.level,
          .gpu = sample.machine.name,
          .mode = mode,
          .fitted_on = IsForFitting(sample.id),
          .measured_ms = sample.measured_ms,
          .estimate = Model(*sample.list, sample.machine, constants)};
}

double Spearman(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size() || a.size() < 2) return 0;
  const std::vector<double> x = Ranks(a), y = Ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

Json ToJson(const Judged& judged) {
  const Estimate& e = judged.estimate;
  return {{"id", judged.id},
          {"gpu", judged.gpu},
          {"mode", judged.mode},
          {"part", judged.fitted_on ? "fitted" : "held_out"},
          {"published_ms", judged.measured_ms},
          {"modelled_ms", e.ms},
          {"label", "modelled"},
          {"uncertainty", e.uncertainty},
          {"host_ms", e.host_ms},
          {"operations", e.operators.size()},
          {"kind", task::OperatorKindName(e.dominant)},
          {"kind_share", e.dominant_share}};
}

std::string Report(std::span<const Judged> all, const ReportOptions& options) {
  std::string text =
      "# Modelled times of PyTorch against published ones\n\nTimes are **modelled** (constants " +
      options.constants_hash +
      ") and compared with times that others measured and published; nothing was measured here. A "
      "third of the tasks, chosen by the hash of their names, was used to fit the constants; the "
      "rest was not. Error = |modelled / published - 1|.\n";
  std::set<std::pair<std::string, std::string>> sets;
  for (const Judged& one : all) sets.emplace(one.gpu, one.mode);
  for (const char* mode : {"eager", "compile"}) {
    for (const auto& [gpu, its_mode] : sets) {
      if (its_mode != mode) continue;
      Group group;
      for (const Judged& one : all) {
        if (one.gpu == gpu && one.mode == mode) group.push_back(&one);
      }
      text += Section(gpu + ", " + mode, group);
    }
  }
  if (!options.left_out.empty()) text += "\n## Left out\n\n";
  for (const std::string& line : options.left_out) text += "- " + line + "\n";
  return text;
}

}  // namespace kuafu::eager
