// SPDX-License-Identifier: Apache-2.0
#include "verify/cudal1.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "eager/report.h"

namespace kuafu::verify::cudal1 {
namespace {

constexpr double kPairRatio = 1.5;  // pairs whose measured speed-ups differ by less say nothing

std::string Fixed(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

bool HasKernels(const std::string& candidate) { return Contains(candidate, "__global__"); }

struct Tally {
  std::vector<double> published, modelled, errors;
  int64_t kernels = 0, within = 0;
  int64_t pairs = 0, pairs_right = 0;
};

Tally Count(const std::vector<Judged>& all, const std::string& gpu) {
  Tally t;
  for (const Judged& one : all) {
    if (one.entry.gpu != gpu) continue;
    ++t.kernels;
    if (!one.speed.known || !one.speed.as_written) continue;
    t.published.push_back(one.entry.speedup);
    t.modelled.push_back(one.speed.speedup);
    const double off = std::abs(std::log(one.speed.speedup / one.entry.speedup));
    t.errors.push_back(std::exp(off) - 1);
    t.within += off <= std::log(one.speed.speedup_uncertainty) ? 1 : 0;
  }
  for (size_t i = 0; i < t.published.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double measured = t.published[i] / t.published[j];
      if (std::max(measured, 1 / measured) < kPairRatio) continue;
      ++t.pairs;
      t.pairs_right += (measured > 1) == (t.modelled[i] > t.modelled[j]) ? 1 : 0;
    }
  }
  return t;
}

std::string Percent(int64_t part, int64_t whole) {
  return whole == 0
             ? ""
             : Fixed(100.0 * static_cast<double>(part) / static_cast<double>(whole), 0) + " %";
}

}  // namespace

Result<std::vector<Entry>> Parse(std::string_view text, std::string_view gpu) {
  std::vector<Entry> entries;
  for (const std::string_view line : SplitLines(text)) {
    if (line.empty()) continue;
    KUAFU_TRY(const Json json, ParseJson(line, kBytesMax));
    const Result<std::string> candidate = JsonString(json, "custom_code");
    const Result<double> speedup = JsonNumber(json, "score_default");
    if (!candidate.ok() || !speedup.ok() || !(speedup.value() > 0)) continue;  // none was found
    if (!HasKernels(candidate.value())) continue;
    Entry entry{
        .gpu = std::string(gpu), .speedup = speedup.value(), .candidate = candidate.value()};
    KUAFU_TRY(const int64_t level, JsonInt(json, "level_id"));
    KUAFU_TRY(const int64_t task, JsonInt(json, "task_id"));
    KUAFU_TRY(entry.reference, JsonString(json, "ref_code"));
    entry.level = static_cast<int>(level);
    entry.task = static_cast<int>(task);
    entry.id = entry.gpu + "/level" + std::to_string(level) + "/task" + std::to_string(task);
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string Report(const std::vector<Judged>& all) {
  std::string text =
      "# Modelled speed-ups of CUDA-L1's kernels against published ones\n\n"
      "Speed-ups over eager PyTorch are **modelled** and compared with those that the kernels' "
      "authors measured; nothing was measured here. Kernels without code of their own are not "
      "listed. Error = max(modelled / published, published / modelled) - 1. Pairs: of two "
      "kernels on one GPU whose published speed-ups differ by a factor of 1.5 or more.\n\n"
      "| GPU | kernels | with a modelled speed-up | Spearman | median error | within its "
      "uncertainty | pairs ordered right |\n|---|---|---|---|---|---|---|\n";
  std::map<std::string, int> gpus;
  for (const Judged& one : all) ++gpus[one.entry.gpu];
  for (const auto& [gpu, count] : gpus) {
    const Tally t = Count(all, gpu);
    const auto known = std::ssize(t.published);
    text += "| " + gpu + " | " + std::to_string(t.kernels) + " | " + std::to_string(known) + " | " +
            (known < 3 ? "" : Fixed(eager::Spearman(t.published, t.modelled), 3)) + " | " +
            (known == 0 ? "" : Fixed(100 * eager::Quantile(t.errors, 0.5), 0) + " %") + " | " +
            Percent(t.within, known) + " | " + Percent(t.pairs_right, t.pairs) + " of " +
            std::to_string(t.pairs) + " |\n";
  }
  text +=
      "\n| kernel | published | modelled | uncertainty | kernels, ms | eager, ms | most of it |\n"
      "|---|---|---|---|---|---|---|\n";
  std::string without;
  for (const Judged& one : all) {
    const verdict::Speed& s = one.speed;
    if (!s.known || !s.as_written) {
      without += "- " + one.entry.id + ": " + one.cls + (s.known ? ", scaled sizes only" : "") +
                 (s.why.empty() ? "" : ": " + s.why) + "\n";
      continue;
    }
    text += "| " + one.entry.id + " | " + Fixed(one.entry.speedup, 2) + " | " +
            Fixed(s.speedup, 2) + " | " + Fixed(s.speedup_uncertainty, 2) + " | " +
            Fixed(s.kernel_ms, 4) + " | " + Fixed(s.eager_ms, 4) + " | " + s.binds + " |\n";
  }
  if (!without.empty()) text += "\n## Without a modelled speed-up\n\n" + without;
  return text;
}

}  // namespace kuafu::verify::cudal1
