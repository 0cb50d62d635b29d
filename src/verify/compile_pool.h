// SPDX-License-Identifier: Apache-2.0
// Warm compile workers (kuafu-compiler --serve). What crashes clang costs that source only; a
// worker that dies itself is started again. What has been compiled lately is kept.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
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
  std::shared_ptr<const os::UniqueFd> module, shared_object;  // sealed
  double ms = 0;                                              // measured, as seen from here
  bool lasting = true;  // not the compiler's end over this source: the same would come back
};

// Safe to use from several threads; more callers than workers wait for a free one.
class CompilePool {
 public:
  // `kept`: how many results are kept, the least recently used go first; 0 = none.
  static Result<std::unique_ptr<CompilePool>> Start(const std::string& compiler, int workers,
                                                    size_t kept);
  // An Error is a fault of the installation.
  Result<Compiled> Compile(const CompileJob& job);

 private:
  struct Worker {
    os::Process process;
    os::Channel channel;
    int64_t next_id = 1;
  };
  struct Kept {
    std::string key;
    Compiled compiled;
  };
  static Status Launch(const std::string& compiler, Worker& worker);
  Result<Compiled> CompileOn(Worker& worker, const CompileJob& job);
  Result<Compiled> CompileAnew(const CompileJob& job);
  std::optional<Compiled> Find(const std::string& key);
  void Keep(const std::string& key, const Compiled& compiled);

  std::string compiler_;
  size_t kept_max_ = 0;
  std::mutex mutex_;  // guards idle_ and kept_
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Worker>> idle_;
  std::list<Kept> kept_;  // the most recently used first
};

}  // namespace kuafu::verify
