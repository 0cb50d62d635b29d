// SPDX-License-Identifier: Apache-2.0
// The main job: one candidate kernel against its PyTorch reference, through the gates, to a
// verdict.
//
//   KUAFU_TRY(auto verifier, verify::Verifier::Start(options));
//   KUAFU_TRY(verdict::Verdict v, verifier->Verify(request));
//
// Nothing foreign runs in this process: compile workers hold clang, a runner holds the candidate,
// the frontend's helper holds PyTorch. Expected values stay here; a candidate never sees them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "device/profile.h"
#include "frontend/frontend.h"
#include "verdict/verdict.h"

namespace kuafu::verify {

struct Options {
  std::string compiler;  // path of kuafu-compiler
  std::string runner;    // path of kuafu-runner
  // Path of libkuafu_torch.so, for candidates in extension form.
  std::string torch_library;
  int compile_workers = 1;
  int runs_max = 0;           // candidates that run at a time, while others compile; 0 = no limit
  size_t compiled_kept = 64;  // results of compilations, for candidates that come again; 0 = none
  std::string cache_dir;      // of trial sets; empty = none
};

struct Request {
  std::string reference_path;  // a PyTorch file
  std::string kernel_path;     // ends in .cu, .mu or .py: that is its form
  // Given instead of the files; the paths are then names, for messages and records.
  std::optional<std::string> reference_text, kernel_text;
  std::vector<device::Target> targets;  // the first one decides; the others are the portable gate
  frontend::Plan plan = frontend::Plan::kQuick;
  bool sanitize = true;
  // One more trial at the task's own sizes, where memory and time allow it; of launches that cost
  // too much some blocks are executed.
  bool nominal = false;
  uint64_t seed = 0;    // of inputs and orders; 0 = drawn when the candidate has been compiled
  int only_trial = -1;  // index of the one trial to run; -1 = all
  // KernelBench's own protocol, for comparison with it: trials as in
  // frontend::TrialRequest::compat_kernelbench, task::AllClose at 1e-4, no sanitizer, no legality.
  bool compat_kernelbench = false;
  // What a candidate in extension form may do: default, strict, lenient, or the path of a file.
  // "off" judges no legality, for tests of the isolation.
  std::string policy = "default";
  // When set, launches are counted, trials run in lock-step only, and this gets the counters of the
  // first that answered on the first target (simt/counters_json.h), before Verify returns.
  std::function<void(const Json& counters)> on_profile;
  bool speed = false;  // a right candidate is run once more, with counters: Verdict::speed
  int timeout_s = 0;   // for all trials together; 0 = 10 for the quick plan, 120 for the full one
};

class Verifier {
 public:
  static Result<std::unique_ptr<Verifier>> Start(const Options& options);
  ~Verifier();
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;

  // Safe to call from several threads. Whatever is wrong with the candidate is a verdict; an Error
  // means that the request is unusable (no such file, the reference is no reference), with the
  // reason. A fault of this installation is a verdict of class infra.
  Result<verdict::Verdict> Verify(const Request& request);

 private:
  struct Impl;
  explicit Verifier(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kuafu::verify
