// SPDX-License-Identifier: Apache-2.0
// What one call of a PyTorch file's ModelNew has a GPU do at the sizes of the file, and what that
// of its reference does: operators, kernels with counters, copies and fills. Nothing is compared,
// and little is computed; what it is for is a modelled time (work_time.h).
//
//   KUAFU_TRY(auto lister, WorkLister::Start(options));
//   KUAFU_TRY(Json work, lister->List({.reference = ..., .candidate = ..., .target = ...}));
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "device/profile.h"

namespace kuafu::verify {

class WorkLister {
 public:
  struct Options {
    std::string compiler;       // path of kuafu-compiler
    std::string torch_library;  // path of libkuafu_torch.so
    int compile_workers = 1;
  };
  struct Request {
    std::string reference, candidate;  // texts of Python files
    device::Target target;
    int timeout_s = 120;  // of CPU time, all in all
  };
  static Result<std::unique_ptr<WorkLister>> Start(const Options& options);
  ~WorkLister();
  // Safe to use from several threads. {"compile_errors": [texts], "extensions": that compiled,
  // "timing": as kuafu_candidate/timing.py has it, or {"why": text}}. An Error is a fault of this
  // installation.
  Result<Json> List(const Request& request);

 private:
  struct Impl;
  explicit WorkLister(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kuafu::verify
