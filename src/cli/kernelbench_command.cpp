// SPDX-License-Identifier: Apache-2.0
// `kuafu bench kernelbench`: tasks.jsonl, verdicts.jsonl and summary.md in a folder; the same
// command again goes on where the last one stopped.
#include <csignal>
#include <cstdio>
#include <map>

#include "base/text.h"
#include "cli/verify_command.h"
#include "os/file.h"
#include "os/thread_pool.h"
#include "trace/trace.h"
#include "verify/batch.h"
#include "verify/kernelbench.h"

namespace kuafu::cli {
namespace {

namespace bench = verify::kernelbench;

constexpr int kLevelMax = 4;

volatile std::sig_atomic_t g_interrupted = 0;

// The second interruption ends the program at once: every finished line is in its file.
void OnInterrupt(int signal) {
  g_interrupted = 1;
  std::signal(signal, SIG_DFL);
}

ExitStatus Complain(const Error& error) {
  std::fprintf(stderr, "kuafu: %s\n", error.ToString().c_str());
  return StatusOf(error);
}

Result<std::vector<int>> ParseLevels(const std::string& text) {
  std::vector<int> levels;
  for (const std::string_view part : Split(text, ',')) {
    const auto level = ParseInt64(part);
    if (!level.has_value() || *level < 1 || *level > kLevelMax) {
      return Error{Code::kInvalidInput, "--levels=" + EscapeForMessage(text, 40) +
                                            ": a list of numbers from 1 to 4, such as 1,2,3"};
    }
    if (std::find(levels.begin(), levels.end(), *level) == levels.end())
      levels.push_back(static_cast<int>(*level));
  }
  return levels;
}

// A file of lines to which results are appended.
class Lines {
 public:
  // A line that an interruption has cut must not swallow the next one.
  static Result<Lines> Open(std::string path) {
    Lines lines(std::move(path));
    KUAFU_TRY(const std::string text, lines.Read());
    if (!text.empty() && text.back() != '\n') KUAFU_TRY_STATUS(os::AppendFile(lines.path_, "\n"));
    return lines;
  }
  Result<std::string> Read() const {
    if (!os::FileExists(path_)) return std::string();
    return os::ReadFile(path_, bench::kLinesBytesMax);
  }
  void Append(const Json& line) {
    if (status_.ok()) status_ = os::AppendFile(path_, DumpJson(line) + "\n");
  }
  const Status& status() const { return status_; }

 private:
  explicit Lines(std::string path) : path_(std::move(path)) {}
  std::string path_;
  Status status_;
};

// Everything that is checked before work starts.
struct Plan {
  std::vector<bench::BenchTask> tasks;
  std::vector<verify::BatchItem> candidates;
  std::map<std::string, bench::BenchCandidate> by_id;
  std::string output;
};

Status AddCandidates(const KernelBenchOptions& options, Plan& plan) {
  KUAFU_TRY(const auto found, bench::ListCandidates(options.candidates));
  std::map<std::pair<int, int>, std::string> references;
  for (const bench::BenchTask& task : plan.tasks)
    references[{task.level, task.problem}] = task.path;
  for (const bench::BenchCandidate& candidate : found) {
    const auto it = references.find({candidate.level, candidate.problem});
    if (it == references.end()) continue;  // of a level that was not asked for
    VerifyOptions verify;
    verify.reference = it->second;
    verify.kernel = candidate.path;
    verify.target = options.target;
    verify.seed = options.seed;
    verify.nominal = verify.speed = options.nominal;
    verify::BatchItem item;
    item.id = candidate.id + (options.compat.empty() ? "" : "@" + options.compat);
    KUAFU_TRY(item.request, RequestFrom(verify));
    item.request.compat_kernelbench = options.compat == "kernelbench";
    item.request.sanitize = options.compat.empty();
    plan.by_id[item.id] = candidate;
    plan.candidates.push_back(std::move(item));
  }
  if (plan.candidates.empty()) {
    return Error{Code::kNotFound, "looking for candidates in " + options.candidates +
                                      ": none is named level_L_problem_P_sample_S_kernel.py with a "
                                      "level and a problem of this run"};
  }
  return OkStatus();
}

Result<Plan> MakePlan(const KernelBenchOptions& options) {
  Plan plan;
  KUAFU_TRY(const std::vector<int> levels, ParseLevels(options.levels));
  KUAFU_TRY_STATUS(verify::ParseTargets(options.target));
  KUAFU_TRY(plan.tasks, bench::ListTasks(options.root, levels));
  if (!options.candidates.empty()) KUAFU_TRY_STATUS(AddCandidates(options, plan));
  plan.output = options.output.empty() ? "kernelbench" : options.output;
  KUAFU_TRY_STATUS(os::MakeDirs(plan.output));
  return plan;
}

Status TasksStage(const KernelBenchOptions& options, const Plan& plan, Lines& lines) {
  KUAFU_TRY(const std::string earlier, lines.Read());
  const auto finished = bench::FinishedTasks(earlier, plan.tasks);
  std::vector<bench::BenchTask> left = plan.tasks;
  std::erase_if(left, [&](const bench::BenchTask& task) { return finished.contains(task.id); });
  if (!finished.empty())
    std::fprintf(stderr, "kuafu: %zu tasks are done already\n", plan.tasks.size() - left.size());
  bench::TaskOptions task_options;
  task_options.jobs = options.jobs;
  task_options.seed = options.seed != 0 ? options.seed : 1;
  trace::Progress progress("tasks", static_cast<int64_t>(plan.tasks.size()));
  auto done = static_cast<int64_t>(plan.tasks.size() - left.size());
  KUAFU_TRY_STATUS(bench::MakeTasks(
      task_options, left,
      [&](const Json& line) {
        lines.Append(line);
        progress.Update(++done);
      },
      [] { return g_interrupted != 0; }));
  progress.Finish();
  return lines.status();
}

Status JudgeStage(const KernelBenchOptions& options, const Plan& plan, Lines& lines) {
  KUAFU_TRY(const std::string earlier, lines.Read());
  const auto finished = verify::FinishedIds(earlier);
  std::vector<verify::BatchItem> left = plan.candidates;
  std::erase_if(left, [&](const verify::BatchItem& item) { return finished.contains(item.id); });
  if (left.empty()) return OkStatus();
  KUAFU_TRY(auto verifier, StartVerifier({.compile_workers = options.jobs}));
  trace::Progress progress("candidates", static_cast<int64_t>(plan.candidates.size()));
  auto done = static_cast<int64_t>(plan.candidates.size() - left.size());
  verify::RunBatch(
      *verifier, left, options.jobs,
      [&](const Json& line) {
        // The interruption may have reached the candidate's processes, too.
        if (g_interrupted != 0) return;
        const bench::BenchCandidate& candidate = plan.by_id.at(line["id"].get<std::string>());
        Json full = line;
        full["level"] = candidate.level;
        full["problem"] = candidate.problem;
        full["sample"] = candidate.sample;
        lines.Append(full);
        progress.Update(++done);
      },
      [] { return g_interrupted != 0; });
  progress.Finish();
  return lines.status();
}

// How many tasks have no golden values, and candidates no verdict.
int64_t CountFailed(const Plan& plan, const std::string& tasks, const std::string& verdicts) {
  int64_t failed = static_cast<int64_t>(plan.tasks.size());
  std::map<std::string, bool> ready;
  for (const std::string_view text : SplitLines(tasks)) {
    const Result<Json> line = ParseJson(text);
    if (!line.ok() || !JsonString(line.value(), "id").ok()) continue;
    const Result<std::string> status = JsonString(line.value(), "status");
    ready[JsonString(line.value(), "id").value()] = status.ok() && status.value() == "ready";
  }
  for (const bench::BenchTask& task : plan.tasks) {
    const auto it = ready.find(task.id);
    failed -= it != ready.end() && it->second ? 1 : 0;
  }
  const auto judged = verify::FinishedIds(verdicts);
  for (const verify::BatchItem& item : plan.candidates) failed += judged.contains(item.id) ? 0 : 1;
  return failed;
}

Result<ExitStatus> RunStages(const KernelBenchOptions& options) {
  KUAFU_TRY(const Plan plan, MakePlan(options));
  KUAFU_TRY(Lines tasks, Lines::Open(os::JoinPath(plan.output, "tasks.jsonl")));
  KUAFU_TRY(Lines verdicts,
            Lines::Open(os::JoinPath(plan.output, options.compat.empty()
                                                      ? "verdicts.jsonl"
                                                      : "verdicts-" + options.compat + ".jsonl")));
  std::signal(SIGINT, OnInterrupt);
  std::signal(SIGTERM, OnInterrupt);
  KUAFU_TRY_STATUS(TasksStage(options, plan, tasks));
  if (g_interrupted == 0 && !plan.candidates.empty())
    KUAFU_TRY_STATUS(JudgeStage(options, plan, verdicts));
  KUAFU_TRY(const std::string task_lines, tasks.Read());
  KUAFU_TRY(const std::string verdict_lines, verdicts.Read());
  const std::string summary =
      bench::Summary(plan.tasks, task_lines, verdict_lines,
                     {.target = options.target, .compat_kernelbench = !options.compat.empty()});
  const std::string path = os::JoinPath(plan.output, "summary.md");
  KUAFU_TRY_STATUS(os::WriteFileAtomic(path, summary));
  std::fputs(summary.c_str(), stdout);
  if (g_interrupted != 0) {
    std::fputs("kuafu: interrupted; the same command goes on where it stopped\n", stderr);
    return kInterrupted;
  }
  return CountFailed(plan, task_lines, verdict_lines) == 0 ? kOk : kNegative;
}

}  // namespace

ExitStatus BenchKernelBench(const KernelBenchOptions& options) {
  Result<ExitStatus> status = RunStages(options);
  if (!status.ok()) return Complain(status.error());
  return status.value();
}

}  // namespace kuafu::cli
