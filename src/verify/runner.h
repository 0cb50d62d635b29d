// SPDX-License-Identifier: Apache-2.0
// Runs a compiled candidate over the trials in a process of its own, and brings back what happened.
// The other side may be hostile: everything it says is bounded and checked.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "device/profile.h"
#include "frontend/frontend.h"
#include "os/channel.h"
#include "os/memfd.h"
#include "tensor/tensor.h"
#include "verdict/verdict.h"
#include "verify/candidate.h"
#include "verify/compile_pool.h"

namespace kuafu::verify {

struct RunPlan {
  std::string runner;  // path of kuafu-runner
  std::string file;    // of the candidate, for findings
  device::Target target;
  uint32_t warp_width = 32;
  bool sanitize = true;
  std::vector<uint64_t> order_seeds;  // 0 = lock-step
  int only_trial = -1;
  uint64_t sample_seed = 1;  // of the choice of blocks
  int64_t timeout_ms = 10'000;
  bool extension = false;  // buffers that the reference changes need not be among the outputs
  bool legality = false;   // operators and origins of an extension candidate are judged
  bool compat_kernelbench = false;  // shape and AllClose are all that is compared
  bool count = false;               // launches are counted: TrialRun::profile
};

// What one trial did under one order.
struct TrialRun {
  int trial = 0, order = 0;
  enum class Status : uint8_t { kOk, kMismatch, kThrew } status = Status::kOk;
  std::string error;  // of kMismatch (the arguments do not fit the entry) and kThrew
  struct Output {
    tensor::HostTensor tensor;  // lives in the mapping that the runner filled
    int64_t never_written = 0;  // bytes; of a sampled trial: of those that are known
    int argument = -1;
    // Of a sampled trial: a flag for each element, 1 = its value is known, in the runner's mapping;
    // and how much of it the blocks that ran stand for (hostabi::Session::Coverage).
    std::span<const uint8_t> known;
    double coverage = 1;
  };
  std::vector<Output> outputs;  // empty when same
  bool same = false;            // bit for bit as under order 0
  std::vector<std::string> inputs_modified;
  std::vector<verdict::Finding> findings;
  bool float_atomics = false;
  // Extension candidates only. ATen operators that forward() dispatched, each with the line of its
  // first call, and where the content of each output comes from.
  std::vector<std::pair<std::string, int>> operators;
  struct Origin {
    std::vector<std::string> sources;  // src/torchext/origins.h
    std::string op;                    // the operator, if one is among them
  };
  std::vector<Origin> origins;
  std::string library_call;  // made by the extension: "at::matmul"
  uint64_t launches = 0, lane_instructions = 0;
  std::string printf_output;
  Json profile;  // simt/counters_json.h; null = not counted
  // Of a sampled trial. Not empty: why it could not be followed to its end.
  std::string blind;
  std::vector<verdict::SampledTrial::Kernel> kernels;
};

// The seed for the blocks of a trial.
uint64_t SampleSeed(const RunPlan& plan, size_t trial);
// How often a trial is run: a sampled one under the first order only.
size_t OrdersOf(const RunPlan& plan, const frontend::Trial& trial);

struct RunResult {
  std::vector<TrialRun> runs;  // in the order in which they happened
  enum class End : uint8_t { kDone, kDied, kTimeout, kGarbage } end = End::kDone;
  std::string end_text;  // how it died, or what was wrong with its answer
  bool killed = false;   // of kDied: by SIGKILL, which may have come from outside
  double ms = 0;         // measured
};

// The request for the runner, and the reading of one answer. `file` is what findings are in; empty:
// what the answer says.
Json RequestJson(const RunPlan& plan, const std::vector<Binding>& bindings,
                 const frontend::TrialSet& set);
Result<TrialRun> ParseTrialRun(const Json& reply, os::Frame& frame, size_t trials, size_t orders,
                               const std::string& file);

// An Error is a fault of this installation.
Result<RunResult> RunTrials(const RunPlan& plan, const Compiled& compiled,
                            const std::vector<Binding>& bindings, const frontend::TrialSet& set);

}  // namespace kuafu::verify
