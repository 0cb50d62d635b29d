// SPDX-License-Identifier: Apache-2.0
#include "verify/cudal1.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <set>

#include "base/hash.h"
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

std::string TaskName(const Entry& entry) {
  return "level" + std::to_string(entry.level) + "/task" + std::to_string(entry.task);
}

struct Pairs {
  int64_t all = 0, right = 0;
  void Add(double published, double modelled) {
    if (std::max(published, 1 / published) < kPairRatio) return;
    ++all;
    right += (published > 1) == (modelled > 1) && modelled != 1 ? 1 : 0;
  }
  std::string Text() const {
    if (all == 0) return "";
    return Fixed(100.0 * static_cast<double>(right) / static_cast<double>(all), 0) + " % of " +
           std::to_string(all);
  }
};

using Choice = std::function<bool(const Judged&)>;

// One row of the table of results, empty if nothing is chosen.
std::string Row(const std::vector<Judged>& all, const std::string& title, const Choice& choose) {
  std::vector<const Judged*> chosen;
  for (const Judged& one : all) {
    if (one.time.known && choose(one)) chosen.push_back(&one);
  }
  if (chosen.empty()) return "";
  std::vector<double> published, modelled, errors;
  int64_t within = 0;
  Pairs eager, task, any;
  for (size_t i = 0; i < chosen.size(); ++i) {
    const Judged& a = *chosen[i];
    published.push_back(a.entry.speedup);
    modelled.push_back(a.time.speedup);
    const double off = std::abs(std::log(a.time.speedup / a.entry.speedup));
    errors.push_back(std::exp(off) - 1);
    within += off <= std::log(a.time.uncertainty) ? 1 : 0;
    eager.Add(a.entry.speedup, a.time.speedup);
    for (size_t j = 0; j < i; ++j) {
      const Judged& b = *chosen[j];
      const double p = a.entry.speedup / b.entry.speedup, m = a.time.speedup / b.time.speedup;
      if (a.entry.gpu == b.entry.gpu)
        any.Add(p, m);
      else if (TaskName(a.entry) == TaskName(b.entry))
        task.Add(p, m);
    }
  }
  const auto count = static_cast<double>(chosen.size());
  return "| " + title + " | " + std::to_string(chosen.size()) + " | " +
         (chosen.size() < 4 ? "" : Fixed(eager::Spearman(published, modelled), 3)) + " | " +
         Fixed(100 * eager::Quantile(errors, 0.5), 0) + " % | " +
         Fixed(100 * static_cast<double>(within) / count, 0) + " % | " + eager.Text() + " | " +
         task.Text() + " | " + any.Text() + " |\n";
}

std::string Rows(const std::vector<Judged>& all, const std::string& title, const Choice& choose) {
  std::string text = Row(all, title, choose);
  if (text.empty()) return "";
  std::set<std::string> gpus;
  for (const Judged& one : all) gpus.insert(one.entry.gpu);
  for (const std::string& gpu : gpus) {
    text += Row(all, "- " + gpu,
                [&](const Judged& one) { return choose(one) && one.entry.gpu == gpu; });
  }
  for (int level = 1; level <= 3; ++level) {
    text += Row(all, "- level " + std::to_string(level),
                [&](const Judged& one) { return choose(one) && one.entry.level == level; });
  }
  return text;
}

std::string FirstLine(const std::string& text) {
  return text.substr(0, std::min(text.find('\n'), size_t{160}));
}

// Of reasons that differ only by names and numbers, the common part.
std::string Reason(const Judged& one) {
  std::string text = FirstLine(one.time.why);
  if (const size_t colon = text.find(": "); colon != std::string::npos && colon > 12)
    text.resize(colon);
  return text;
}

}  // namespace

bool IsForFitting(const Entry& entry) { return Hash64(TaskName(entry)) % 2 == 0; }

HostConstants Fit(const std::vector<Sample>& samples) {
  constexpr int kRounds = 3, kSteps = 7;
  const auto error = [&](const HostConstants& host) {
    double sum = 0;
    for (const Sample& sample : samples) {
      const WorkTime time = TimeOf(*sample.work, *sample.profile, host);
      if (time.known) sum += std::abs(std::log(time.speedup / sample.speedup));
    }
    return sum;
  };
  HostConstants best;
  double least = error(best);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < std::size(kHostConstants); ++i) {
      const auto which = static_cast<HostConstant>(i);
      const HostConstantInfo& info = kHostConstants[i];
      const double wide = std::pow(info.high / info.low, 1.0 / (kSteps - 1));
      const double ratio = round == 0 ? wide : std::pow(wide, 1.0 / (2 * round));
      const double middle = best[which];
      for (int step = 0; step < kSteps; ++step) {
        HostConstants tried = best;
        tried[which] = round == 0 ? info.low * std::pow(ratio, step)
                                  : std::clamp(middle * std::pow(ratio, step - kSteps / 2),
                                               info.low, info.high);
        const double sum = error(tried);
        if (sum >= least) continue;
        least = sum;
        best = tried;
      }
    }
  }
  return best;
}

Result<std::vector<Entry>> Parse(std::string_view text, std::string_view gpu) {
  std::vector<Entry> entries;
  for (const std::string_view line : SplitLines(text)) {
    if (line.empty()) continue;
    KUAFU_TRY(const Json json, ParseJson(line, kBytesMax));
    const Result<std::string> candidate = JsonString(json, "custom_code");
    const Result<double> speedup = JsonNumber(json, "score_default");
    if (!candidate.ok() || !speedup.ok() || !(speedup.value() > 0)) continue;  // none was found
    Entry entry{.gpu = std::string(gpu),
                .speedup = speedup.value(),
                .kernels = Contains(candidate.value(), "__global__"),
                .candidate = candidate.value()};
    KUAFU_TRY(const int64_t level, JsonInt(json, "level_id"));
    KUAFU_TRY(const int64_t task, JsonInt(json, "task_id"));
    KUAFU_TRY(entry.reference, JsonString(json, "ref_code"));
    entry.level = static_cast<int>(level);
    entry.task = static_cast<int>(task);
    entry.id = entry.gpu + "/" + TaskName(entry);
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string Report(const std::vector<Judged>& all, const HostConstants& host) {
  std::string text =
      "# Modelled speed-ups of CUDA-L1's kernels against published ones\n\n"
      "Speed-ups over eager PyTorch are **modelled** and compared with those that the kernels' "
      "authors measured; nothing was measured here. Held out: tasks that no constant was set "
      "with a look at. What ran: own kernels, both, or PyTorch only (also where a file has a "
      "kernel that does not build, so that it falls back). Files that use torch.jit and the like, "
      "where a GPU would do something else, stand apart. Error = max(modelled / published, "
      "published / modelled) - 1. Pairs whose published speed-ups differ by 1.5 or more, ordered "
      "right: a candidate and eager PyTorch; candidates for one task on two GPUs; any two on one "
      "GPU.\n\nConstants of the host: `" +
      host.Hash() + "`\n";
  for (const bool fitting : {false, true}) {
    text += std::string("\n## ") + (fitting ? "The other half: looked at" : "Held out") +
            "\n\n| what ran | files | Spearman | median error | within its uncertainty | against "
            "PyTorch | one task, two GPUs | any two |\n|---|---:|---:|---:|---:|---:|---:|---:|\n";
    const auto in_half = [&](const Judged& one) {
      return IsForFitting(one.entry) == fitting && one.time.approximate.empty();
    };
    text += Rows(all, "own kernels, with or without PyTorch", [&](const Judged& one) {
      return in_half(one) && one.time.kind != WorkKind::kPyTorch;
    });
    for (const WorkKind kind : {WorkKind::kKernels, WorkKind::kMixed, WorkKind::kPyTorch}) {
      text += Rows(all, std::string(WorkKindName(kind)),
                   [&](const Judged& one) { return in_half(one) && one.time.kind == kind; });
    }
    text += Row(all, "torch.jit and the like", [&](const Judged& one) {
      return IsForFitting(one.entry) == fitting && !one.time.approximate.empty();
    });
  }
  text +=
      "\n## Files with kernels\n\n| file | half | what ran | launches | operators | published | "
      "modelled | uncertainty | ms | eager, ms | most of it |\n"
      "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---|\n";
  std::map<std::string, std::string> without, fallbacks;
  std::string others;
  for (const Judged& one : all) {
    const WorkTime& t = one.time;
    if (!t.known) {
      without[Reason(one)] += "- " + one.entry.id + (one.entry.kernels ? "" : " (no kernel)") +
                              ": " + FirstLine(t.why) +
                              (one.build_error.empty() ? "" : "; " + FirstLine(one.build_error)) +
                              "\n";
      continue;
    }
    if (!one.build_error.empty())
      fallbacks[one.entry.gpu] += "- " + one.entry.id + ": " + FirstLine(one.build_error) + "\n";
    std::string kind(WorkKindName(t.kind));
    for (const std::string& name : t.approximate) kind += ", " + name;
    (one.entry.kernels ? text : others) +=
        "| " + one.entry.id + " | " + (IsForFitting(one.entry) ? "looked at" : "held out") + " | " +
        kind + " | " + std::to_string(t.launches) + " | " + std::to_string(t.operators) + " | " +
        Fixed(one.entry.speedup, 2) + " | " + Fixed(t.speedup, 2) + " | " +
        Fixed(t.uncertainty, 2) + " | " + Fixed(t.ms, 4) + " | " + Fixed(t.reference_ms, 4) +
        " | " + t.binds + " |\n";
  }
  if (!others.empty()) {
    text +=
        "\n## Files without kernels\n\n| file | half | what ran | launches | operators | "
        "published | modelled | uncertainty | ms | eager, ms | most of it |\n"
        "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---|\n" +
        others;
  }
  if (!fallbacks.empty()) {
    text += "\n## An extension does not build; what ran is what the file does then\n\n";
    for (const auto& [gpu, lines] : fallbacks) text += lines;
  }
  if (!without.empty()) {
    text += "\n## Without a modelled speed-up\n";
    for (const auto& [reason, lines] : without) text += "\n" + reason + ":\n\n" + lines;
  }
  return text;
}

}  // namespace kuafu::verify::cudal1
