// SPDX-License-Identifier: Apache-2.0
// Warm compile workers (kuafu-compiler --serve). A worker forks for every source, so that what
// crashes clang costs that source only; a worker that dies itself is started again.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/channel.h"
#include "os/process.h"

namespace kuafu::verify {

struct CompileJob {
  std::string source;
  std::string file;  // shown in messages
  bool musa = false;
  uint32_t arch = 900;
};

struct Compiled {
  bool ok = false;
  std::string message;    // why not: diagnostics, or what became of the compiler
  bool no_entry = false;  // it compiles, but there is no function to call
  std::string entry;
  os::UniqueFd module, shared_object;  // sealed
  double ms = 0;                       // measured, as seen from here
};

// Safe to use from several threads; more callers than workers wait for a free one.
class CompilePool {
 public:
  static Result<std::unique_ptr<CompilePool>> Start(const std::string& compiler, int workers);
  // An Error is a fault of the installation.
  Result<Compiled> Compile(const CompileJob& job);

 private:
  struct Worker {
    os::Process process;
    os::Channel channel;
    int64_t next_id = 1;
  };
  static Status Launch(const std::string& compiler, Worker& worker);
  Result<Compiled> CompileOn(Worker& worker, const CompileJob& job);

  std::string compiler_;
  std::mutex mutex_;  // guards idle_
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

}  // namespace kuafu::verify
