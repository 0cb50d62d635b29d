// SPDX-License-Identifier: Apache-2.0
// Counts the lines of both stages and prints them as Markdown that also reads well in a terminal.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>

#include "base/text.h"
#include "verdict/verdict.h"
#include "verify/kernelbench.h"

namespace kuafu::verify::kernelbench {
namespace {

constexpr std::array<double, 3> kFastP = {0, 1, 2};

// The last line of each id counts: it was made by the latest run.
std::map<std::string, Json> LastLines(std::string_view lines) {
  std::map<std::string, Json> by_id;
  for (const std::string_view text : SplitLines(lines)) {
    Result<Json> line = ParseJson(text);
    if (!line.ok()) continue;
    if (Result<std::string> id = JsonString(line.value(), "id"); id.ok())
      by_id[id.value()] = std::move(line).value();
  }
  return by_id;
}

std::string TextOf(const Json& line, const char* key) {
  Result<std::string> text = JsonString(line, key);
  return text.ok() ? text.value() : "";
}

std::string Percent(int64_t part, int64_t whole) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%",
                whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

std::string Row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + cell + " |";
  return row + "\n";
}

std::string Head(const std::vector<std::string>& cells) {
  std::string rule = "|";
  for (size_t i = 0; i < cells.size(); ++i) rule += "---|";
  return Row(cells) + rule + "\n";
}

std::string StandingOf(const Json& line) {
  const Json* audit = JsonFind(line, "audit");
  return audit == nullptr ? "" : TextOf(*audit, "standing");
}

struct Level {
  int64_t tasks = 0, ready = 0, failed = 0, scaled = 0, degenerate = 0, repaired = 0;
  double seconds = 0;
};

struct Judged {
  int64_t candidates = 0, errors = 0;
  std::set<int> right_first, right_any;  // problems
  std::map<int, double> speedups;        // of the first sample, where known
};

bool IsScaled(const Json& line) {
  const Json* notes = JsonFind(line, "notes");
  return notes != nullptr && notes->is_array() &&
         std::any_of(notes->begin(), notes->end(), [](const Json& note) {
           return note.is_string() && StartsWith(note.get<std::string>(), "nominal sizes scaled");
         });
}

std::string TasksText(const std::vector<BenchTask>& tasks,
                      const std::map<std::string, Json>& lines) {
  std::map<int, Level> levels;
  std::string failures;
  for (const BenchTask& task : tasks) {
    Level& level = levels[task.level];
    ++level.tasks;
    const auto it = lines.find(task.id);
    if (it == lines.end()) continue;
    if (TextOf(it->second, "status") != "ready") {
      ++level.failed;
      failures += "- " + task.id + ": " + TextOf(it->second, "code") + ": " +
                  TextOf(it->second, "reason") + "\n";
      continue;
    }
    ++level.ready;
    level.scaled += IsScaled(it->second) ? 1 : 0;
    level.degenerate += StandingOf(it->second) == "degenerate" ? 1 : 0;
    level.repaired += StandingOf(it->second) == "repaired" ? 1 : 0;
    for (const char* key : {"seconds", "audit_seconds"}) {
      if (Result<double> s = JsonNumber(it->second, key); s.ok()) level.seconds += s.value();
    }
  }
  std::string text = "## Tasks\n\n" + Head({"level", "tasks", "ready", "failed", "not done",
                                            "scaled", "degenerate", "repaired", "seconds"});
  for (const auto& [number, level] : levels) {
    text +=
        Row({std::to_string(number), std::to_string(level.tasks), std::to_string(level.ready),
             std::to_string(level.failed), std::to_string(level.tasks - level.ready - level.failed),
             std::to_string(level.scaled), std::to_string(level.degenerate),
             std::to_string(level.repaired), std::to_string(static_cast<int64_t>(level.seconds))});
  }
  text += "\nReady: golden values exist for all its trials. Seconds of the helpers, measured.\n";
  if (!failures.empty()) text += "\nTasks that cannot be judged, and why:\n\n" + failures;
  return text;
}

const char* Mark(const Json& answer, const char* key) {
  const Result<bool> passes = JsonBool(answer, key);
  return passes.ok() && passes.value() ? "passes" : "-";
}

std::string AuditText(const std::vector<BenchTask>& tasks,
                      const std::map<std::string, Json>& lines) {
  std::string rows;
  for (const BenchTask& task : tasks) {
    const auto it = lines.find(task.id);
    const Json* audit = it == lines.end() ? nullptr : JsonFind(it->second, "audit");
    const Json* answers = audit == nullptr ? nullptr : JsonFind(*audit, "answers");
    if (answers == nullptr || !answers->is_array()) continue;
    for (const Json& answer : *answers) {
      rows += Row({task.id, TextOf(answer, "answer"), Mark(answer, "passes_ours"),
                   Mark(answer, "passes_1e-4"), Mark(answer, "passes_1e-2"),
                   TextOf(answer, "caught_by")});
    }
  }
  if (rows.empty()) return "";
  return "\n## Audit: answers that nobody has to compute\n\nAt the benchmark's own protocol "
         "(inputs as written, parameters as built, allclose) and at ours. A task where one passes "
         "ours is degenerate.\n\n" +
         Head({"task", "answer", "ours", "allclose 1e-4", "allclose 1e-2", "caught by"}) + rows;
}

void Add(Judged& judged, const Json& line) {
  ++judged.candidates;
  const Json* document = JsonFind(line, "verdict");
  Result<verdict::Verdict> v = document == nullptr
                                   ? Result<verdict::Verdict>(Error{Code::kNotFound, "an error"})
                                   : verdict::FromJson(*document);
  if (!v.ok() || v.value().cls == verdict::Class::kInfra ||
      v.value().cls == verdict::Class::kInconclusive) {
    ++judged.errors;
    return;
  }
  const auto problem = static_cast<int>(JsonInt(line, "problem").value());
  if (!v.value().pass()) return;
  judged.right_any.insert(problem);
  if (Result<int64_t> sample = JsonInt(line, "sample"); sample.ok() && sample.value() == 0) {
    judged.right_first.insert(problem);
    if (v.value().reward.speed_known) judged.speedups[problem] = v.value().reward.speedup;
  }
}

std::string JudgedText(const std::vector<BenchTask>& tasks,
                       const std::map<std::string, Json>& task_lines,
                       const std::map<std::string, Json>& verdict_lines,
                       const SummaryOptions& options) {
  if (verdict_lines.empty()) return "";
  std::map<int, int64_t> counts;
  std::set<std::pair<int, int>> degenerate;
  for (const BenchTask& task : tasks) {
    ++counts[task.level];
    const auto it = task_lines.find(task.id);
    if (it != task_lines.end() && StandingOf(it->second) == "degenerate")
      degenerate.insert({task.level, task.problem});
  }
  std::map<int, Judged> levels;
  for (const auto& [id, line] : verdict_lines) {
    const Result<int64_t> level = JsonInt(line, "level");
    if (!level.ok() || !JsonInt(line, "problem").ok()) continue;
    if (counts.contains(static_cast<int>(level.value())))
      Add(levels[static_cast<int>(level.value())], line);
  }
  std::string text = "\n## Candidates\n\nProtocol: ";
  text += options.compat_kernelbench
              ? "KernelBench's own (5 trials at one shape, inputs as written, allclose 1e-4), at "
                "the scaled sizes; for comparison only"
              : "Kuafu's gates";
  text += "; target " + options.target + ". Rates are of all tasks of a level; sample 0 counts, " +
          "`any` is the best of all samples.\n\n" +
          Head({"level", "tasks", "candidates", "not judged", "right", "right, any",
                "right, without degenerate tasks", "fast_0", "fast_1", "fast_2", "time"});
  for (const auto& [number, judged] : levels) {
    const int64_t all = counts[number];
    int64_t sound = 0, lost = 0;
    for (const auto& [level, problem] : degenerate) lost += level == number ? 1 : 0;
    for (const int problem : judged.right_first) {
      sound += degenerate.contains({number, problem}) ? 0 : 1;
    }
    std::vector<std::string> row = {std::to_string(number),
                                    std::to_string(all),
                                    std::to_string(judged.candidates),
                                    std::to_string(judged.errors),
                                    Percent(std::ssize(judged.right_first), all),
                                    Percent(std::ssize(judged.right_any), all),
                                    Percent(sound, all - lost)};
    const bool known = !judged.speedups.empty();
    for (const double p : kFastP) {
      const auto fast = std::count_if(judged.speedups.begin(), judged.speedups.end(),
                                      [p](const auto& s) { return s.second > p; });
      // fast_0 is the share of right ones, whatever their time.
      row.push_back(p == 0  ? Percent(std::ssize(judged.right_first), all)
                    : known ? Percent(fast, all)
                            : "unknown");
    }
    row.push_back(known ? StartsWith(options.target, "sim:") ? "modelled" : "measured" : "unknown");
    text += Row(row);
  }
  return text;
}

}  // namespace

std::string Summary(const std::vector<BenchTask>& tasks, std::string_view task_lines,
                    std::string_view verdict_lines, const SummaryOptions& options) {
  const std::map<std::string, Json> by_task = LastLines(task_lines);
  return "# KernelBench\n\n" + TasksText(tasks, by_task) +
         JudgedText(tasks, by_task, LastLines(verdict_lines), options) + AuditText(tasks, by_task);
}

}  // namespace kuafu::verify::kernelbench
