// SPDX-License-Identifier: Apache-2.0
// KernelBench from a checkout of its user: its tasks made ready and audited, its candidates judged,
// in two stages whose results are lines of JSON, one for each task or candidate, written as soon as
// it is done. Whatever stops a run loses what was in progress and nothing else.
//
//   KUAFU_TRY(auto tasks, kernelbench::ListTasks(root, {1, 2, 3}));
//   kernelbench::MakeTasks({.jobs = 2}, tasks, emit, stop);
//   puts(kernelbench::Summary(tasks, task_lines, verdict_lines, {}).c_str());
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/json.h"
#include "verify/verify.h"

namespace kuafu::verify::kernelbench {

inline constexpr int64_t kLinesBytesMax = int64_t{512} << 20;

struct BenchTask {
  std::string id;  // "level1/19_ReLU.py"
  std::string path;
  int level = 0, problem = 0;
};

// The files N_Name.py of ROOT/KernelBench/levelL or ROOT/levelL, in order. not_found names the
// folder that is missing.
Result<std::vector<BenchTask>> ListTasks(const std::string& root, const std::vector<int>& levels);

struct BenchCandidate {
  std::string id;  // of its file, without .py: "level_1_problem_19_sample_0_kernel"
  std::string path;
  int level = 0, problem = 0, sample = 0;
};

// The files level_L_problem_P_sample_S_kernel.py of a folder, sorted; others are ignored.
Result<std::vector<BenchCandidate>> ListCandidates(const std::string& directory);

struct TaskOptions {
  int jobs = 2;  // helpers at a time, each a process with PyTorch
  uint64_t seed = 1;
  int64_t task_ms = 300'000;
  std::string cache_dir;  // of trial sets; empty = none
};

using Emit = std::function<void(const Json&)>;  // never from two threads at once
using Stop = std::function<bool()>;

// One line for each task: {"id", "status": "ready", "trials", "shapes", "value_classes", "notes",
// "audit", ...} or {"id", "status": "failed", "code", "reason"}. What is interrupted gets none.
Status MakeTasks(const TaskOptions& options, const std::vector<BenchTask>& tasks, const Emit& emit,
                 const Stop& stop);

// Ids of earlier lines that need not be done again: those of the same source, other than failures
// that may pass when tried again.
std::unordered_set<std::string> FinishedTasks(std::string_view lines,
                                              const std::vector<BenchTask>& tasks);

// What `kuafu bench kernelbench` prints and writes: tasks by level, pass rates and fast_p, audit.
struct SummaryOptions {
  std::string target;
  bool compat_kernelbench = false;
};
std::string Summary(const std::vector<BenchTask>& tasks, std::string_view task_lines,
                    std::string_view verdict_lines, const SummaryOptions& options);

}  // namespace kuafu::verify::kernelbench
