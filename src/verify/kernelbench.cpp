// SPDX-License-Identifier: Apache-2.0
// Finds tasks and candidates; the stage "tasks".
#include "verify/kernelbench.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "frontend/frontend.h"
#include "os/file.h"
#include "os/thread_pool.h"
#include "verify/audit.h"

namespace kuafu::verify::kernelbench {
namespace {

constexpr int kLinesVersion = 2;
constexpr int64_t kAuditMemoryBytes = int64_t{10} << 30;  // only a loss takes so much

// "19_ReLU.py" -> 19.
std::optional<int> ProblemOf(std::string_view name) {
  if (!EndsWith(name, ".py")) return std::nullopt;
  const size_t end = name.find('_');
  if (end == std::string_view::npos || end > 6) return std::nullopt;
  const auto number = ParseInt64(name.substr(0, end));
  if (!number.has_value() || *number < 0) return std::nullopt;
  return static_cast<int>(*number);
}

// Takes "level_12" off the front of `text` and gives 12.
std::optional<int> Take(std::string_view& text, std::string_view label) {
  if (!StartsWith(text, label)) return std::nullopt;
  text.remove_prefix(label.size());
  size_t digits = 0;
  while (digits < text.size() && digits < 9 && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const auto number = ParseInt64(text.substr(0, digits));
  if (!number.has_value()) return std::nullopt;
  text.remove_prefix(digits);
  return static_cast<int>(*number);
}

// Helpers are few; a thread takes one for a task.
class HelperPool {
 public:
  explicit HelperPool(const TaskOptions& options) : options_(options) {}
  Result<std::unique_ptr<frontend::Helper>> Take() {
    {
      std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        auto helper = std::move(free_.back());
        free_.pop_back();
        return helper;
      }
    }
    frontend::Helper::Options helper_options;
    helper_options.cache_dir = options_.cache_dir;
    return frontend::Helper::Start(helper_options);
  }
  void Give(std::unique_ptr<frontend::Helper> helper) {
    std::lock_guard lock(mutex_);
    free_.push_back(std::move(helper));
  }

 private:
  const TaskOptions& options_;
  std::mutex mutex_;  // guards free_
  std::vector<std::unique_ptr<frontend::Helper>> free_;
};

Json Head(const BenchTask& task, const std::string& source) {
  return {{"id", task.id},
          {"version", kLinesVersion},
          {"level", task.level},
          {"problem", task.problem},
          {"source_hash", HashHex(source)}};
}

Json Failed(Json line, const Error& error) {
  line["status"] = "failed";
  line["code"] = CodeName(error.code);
  line["reason"] = error.message;
  return line;
}

void Describe(Json& line, const frontend::TrialSet& set) {
  std::set<std::string> shapes, classes;
  for (const frontend::Trial& trial : set.trials) {
    shapes.insert(trial.shape_label);
    classes.insert(trial.value_class);
  }
  line["status"] = "ready";
  line["trials"] = set.trials.size();
  line["nominal"] = set.trials.front().shape_text;
  line["shapes"] = shapes;
  line["value_classes"] = classes;
  line["constructor"] = !set.trials.front().init_json.empty();
  line["dropout_off"] = set.dropout_off;
  line["inputs_mutated"] = set.inputs_mutated;
  line["notes"] = set.notes;
}

Json MakeTask(const TaskOptions& options, const BenchTask& task, const std::string& source,
              frontend::Helper& helper) {
  Json line = Head(task, source);
  frontend::TrialRequest request;
  request.source = source;
  request.name = os::BaseName(task.path);
  request.seed = options.seed;
  request.alternatives = true;
  Result<frontend::TrialSet> ours =
      helper.MakeTrials(request, os::Deadline::AfterMs(options.task_ms));
  if (!ours.ok()) return Failed(std::move(line), ours.error());
  Describe(line, ours.value());
  request.compat_kernelbench = true;
  request.memory_bytes = kAuditMemoryBytes;
  Result<frontend::TrialSet> theirs =
      helper.MakeTrials(request, os::Deadline::AfterMs(options.task_ms));
  line["audit"] = ToJson(AuditTask(ours.value(), theirs.ok() ? &theirs.value() : nullptr));
  line["audit_nominal"] = theirs.ok() ? theirs.value().trials.front().shape_text : "";
  if (!theirs.ok()) line["audit_error"] = theirs.error().message;
  line["seconds"] = ours.value().seconds;
  line["audit_seconds"] = theirs.ok() ? theirs.value().seconds : 0.0;
  return line;
}

// May pass when tried again, or on another machine.
bool IsTransient(std::string_view code) {
  return code == CodeName(Code::kDeadline) || code == CodeName(Code::kUnavailable) ||
         code == CodeName(Code::kInternal) || code == CodeName(Code::kCorrupt);
}

}  // namespace

Result<std::vector<BenchTask>> ListTasks(const std::string& root, const std::vector<int>& levels) {
  std::vector<BenchTask> tasks;
  for (const int level : levels) {
    const std::string folder = "level" + std::to_string(level);
    std::string directory = os::JoinPath(os::JoinPath(root, "KernelBench"), folder);
    if (!os::IsDirectory(directory)) directory = os::JoinPath(root, folder);
    if (!os::IsDirectory(directory)) {
      return Error{Code::kNotFound, "looking for the tasks of level " + std::to_string(level) +
                                        ": there is neither " + root + "/KernelBench/" + folder +
                                        " nor " + root + "/" + folder +
                                        "; --root is a checkout of KernelBench"};
    }
    KUAFU_TRY(const std::vector<std::string> names, os::ListDir(directory));
    std::vector<BenchTask> found;
    for (const std::string& name : names) {
      const std::optional<int> problem = ProblemOf(name);
      if (!problem.has_value()) continue;
      found.push_back({folder + "/" + name, os::JoinPath(directory, name), level, *problem});
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const BenchTask& a, const BenchTask& b) { return a.problem < b.problem; });
    tasks.insert(tasks.end(), found.begin(), found.end());
  }
  return tasks;
}

Result<std::vector<BenchCandidate>> ListCandidates(const std::string& directory) {
  KUAFU_TRY(const std::vector<std::string> names, os::ListDir(directory));
  std::vector<BenchCandidate> candidates;
  for (const std::string& name : names) {
    std::string_view rest = name;
    BenchCandidate candidate;
    const auto level = Take(rest, "level_");
    const auto problem = level.has_value() ? Take(rest, "_problem_") : std::nullopt;
    const auto sample = problem.has_value() ? Take(rest, "_sample_") : std::nullopt;
    if (!sample.has_value() || rest != "_kernel.py") continue;
    candidate.id = name.substr(0, name.size() - 3);
    candidate.path = os::JoinPath(directory, name);
    candidate.level = *level;
    candidate.problem = *problem;
    candidate.sample = *sample;
    candidates.push_back(std::move(candidate));
  }
  std::sort(
      candidates.begin(), candidates.end(), [](const BenchCandidate& a, const BenchCandidate& b) {
        return std::tie(a.level, a.problem, a.sample) < std::tie(b.level, b.problem, b.sample);
      });
  return candidates;
}

Status MakeTasks(const TaskOptions& options, const std::vector<BenchTask>& tasks, const Emit& emit,
                 const Stop& stop) {
  HelperPool helpers(options);
  std::mutex mutex;  // guards emit and status
  Status status;
  os::ThreadPool pool({.threads = options.jobs, .queue_max = options.jobs});
  for (const BenchTask& task : tasks) {
    if (stop()) break;
    pool.Submit([&, task] {
      if (stop()) return;
      Result<std::string> source = os::ReadFile(task.path, kSourceBytesMax);
      Json line;
      if (!source.ok()) {
        line = Failed(Head(task, ""), source.error());
      } else {
        Result<std::unique_ptr<frontend::Helper>> helper = helpers.Take();
        if (!helper.ok()) {
          std::lock_guard lock(mutex);
          status = helper.error();
          return;
        }
        line = MakeTask(options, task, source.value(), *helper.value());
        helpers.Give(std::move(helper).value());
      }
      // The interruption may have reached the helper, too.
      if (stop() && line["status"] != "ready") return;
      std::lock_guard lock(mutex);
      emit(line);
    });
  }
  pool.WaitIdle();
  return status;
}

std::unordered_set<std::string> FinishedTasks(std::string_view lines,
                                              const std::vector<BenchTask>& tasks) {
  std::map<std::string, std::string, std::less<>> hashes;
  for (const BenchTask& task : tasks) {
    Result<std::string> source = os::ReadFile(task.path, kSourceBytesMax);
    if (source.ok()) hashes[task.id] = HashHex(source.value());
  }
  std::unordered_set<std::string> finished;
  for (const std::string_view text : SplitLines(lines)) {
    Result<Json> line = ParseJson(text);
    if (!line.ok()) continue;  // cut short
    Result<std::string> id = JsonString(line.value(), "id");
    Result<std::string> hash = JsonString(line.value(), "source_hash");
    if (!id.ok() || !hash.ok()) continue;
    const auto it = hashes.find(id.value());
    if (it == hashes.end() || it->second != hash.value()) continue;
    Result<std::string> code = JsonString(line.value(), "code");
    if (code.ok() && IsTransient(code.value())) continue;
    finished.insert(id.value());
  }
  return finished;
}

}  // namespace kuafu::verify::kernelbench
