// SPDX-License-Identifier: Apache-2.0
// Runs candidates in extension form: a Python file with ModelNew, in a process of its own with real
// PyTorch (src/torchext). That process asks for three things while it runs: compilation of its
// extensions, the trials, and more time it does not get. What is expected never goes there.
//
//   KUAFU_TRY(auto host, ExtensionHost::Start(options));
//   KUAFU_TRY(ExtensionRun run, host->Run(plan, compilers, trials));
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "frontend/frontend.h"
#include "os/channel.h"
#include "os/process.h"
#include "verify/compile_pool.h"
#include "verify/legality.h"
#include "verify/runner.h"

namespace kuafu::verify {

struct ExtensionPlan {
  RunPlan run;  // `runner` is not used
  std::string source;
  bool musa = false;   // the file is written for torch_musa
  std::string policy;  // default, strict, lenient; empty: legality is not judged
  // Text of the PyTorch file when it is to run in the same process before the candidate, as in
  // KernelBench's protocol; it gives away what is expected.
  std::optional<std::string> reference;
  // Instead of trials: what one call at the sizes of the file, after some others, has the GPU do.
  // Needs `reference`; nothing is compared.
  bool timing = false;
};

// Where a unit of an extension stands in the Python file: texts of string literals.
struct UnitPlaces {
  std::string file;
  std::vector<std::pair<int, int>> places;  // line of the unit, line of the Python file
  std::string source;
  bool device = false;
};

struct ExtensionRun {
  RunResult result;
  std::shared_ptr<const frontend::TrialSet> set;  // that ran; null if none did
  std::vector<LegalityFinding> legality;          // of the Python file, then of its extensions
  bool rejected = false;                          // by legality: nothing has run
  std::string refused, refusal;                   // mismatch or threw: the file could not be loaded
  std::vector<std::string> compile_errors;        // of each extension that did not compile
  std::vector<UnitPlaces> units;                  // of all extensions
  int extensions = 0;                             // that compiled
  Json timing;                    // of ExtensionPlan::timing: as kuafu_candidate/timing.py has it
  std::string as_built;           // why the module made its own parameters; empty = no
  double compile_ms = 0, ms = 0;  // measured; ms without compiling
  std::vector<std::string> missing;  // protections that this machine does not have
};

using TrialSource = std::function<Result<std::shared_ptr<const frontend::TrialSet>>(bool as_built)>;

class ExtensionHost {
 public:
  struct Options {
    std::string python = "/usr/bin/python3";
    std::string library;  // path of libkuafu_torch.so
  };
  // Begins to import PyTorch, in the background.
  static Result<std::unique_ptr<ExtensionHost>> Start(const Options& options);
  ~ExtensionHost();
  // Safe to use from several threads. An Error is a fault of this installation or of the
  // reference.
  Result<ExtensionRun> Run(const ExtensionPlan& plan, CompilePool& compilers,
                           const TrialSource& trials);

 private:
  explicit ExtensionHost(Options options) : options_(std::move(options)) {}
  Status Launch();
  Status WaitReady();
  void Stop();
  // Sends a request with descriptors; launches a zygote if there is none.
  Status Ask(const Json& request, std::span<const int> fds);
  Result<ExtensionRun> Converse(const ExtensionPlan& plan, CompilePool& compilers,
                                const TrialSource& trials, const Json& request);

  Options options_;
  std::mutex mutex_;  // guards everything below
  os::Process process_;
  os::Channel control_;
  bool ready_ = false;
};

// The line of the Python file for a line of one of its units, 0 = unknown.
int LineInFile(const std::vector<UnitPlaces>& units, const std::string& file, int line);

}  // namespace kuafu::verify
