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

#include "base/json.h"
#include "base/result.h"
#include "device/profile.h"
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

// A translation unit of an extension; `device` = false is plain C++.
struct ExtensionUnit {
  std::string file;  // shown in messages
  std::string source;
  bool device = true;
};

struct ExtensionJob {
  std::vector<ExtensionUnit> units;  // at most 15
  std::vector<std::string> defines;  // NAME or NAME=VALUE; anything else is an error of the source
  bool musa = false;
  uint32_t arch = 900;
};

struct CompiledExtension {
  bool ok = false;
  std::string message;  // why not, as in Compiled
  // Of each unit, in their order; null for plain C++. Sealed; shared with what the pool keeps.
  std::vector<std::shared_ptr<const os::UniqueFd>> modules;
  std::shared_ptr<const os::UniqueFd> shared_object;
  double ms = 0;
  bool lasting = true;
};

// What __CUDA_ARCH__ or __MUSA_ARCH__ is; a kernel may be tried on a device of the other vendor,
// whose number its dialect does not have.
uint32_t ArchOf(const device::Profile& profile, bool musa);

// Safe to use from several threads; more callers than workers wait for a free one.
class CompilePool {
 public:
  // `kept`: how many results are kept, the least recently used go first; 0 = none.
  static Result<std::unique_ptr<CompilePool>> Start(const std::string& compiler, int workers,
                                                    size_t kept);
  // An Error is a fault of the installation.
  Result<Compiled> Compile(const CompileJob& job);
  // All units and their linking, under the same rules.
  Result<CompiledExtension> CompileExtension(const ExtensionJob& job);

 private:
  struct Request {
    Json json;         // without an id
    std::string file;  // for messages
    size_t files = 0;  // that come back
  };
  struct Outcome {
    bool ok = false;
    std::string message;
    std::string entry;
    std::vector<std::shared_ptr<const os::UniqueFd>> files;
    double ms = 0;
    bool lasting = true;
  };
  struct Worker {
    os::Process process;
    os::Channel channel;
    int64_t next_id = 1;
  };
  struct Kept {
    std::string key;
    Outcome outcome;
  };
  static Status Launch(const std::string& compiler, Worker& worker);
  // From what is kept under `key`, or compiled and then kept.
  Result<Outcome> Answer(const std::string& key, const Request& request);
  Result<Outcome> CompileOn(Worker& worker, const Request& request);
  Result<Outcome> CompileAnew(const Request& request);
  std::optional<Outcome> Find(const std::string& key);
  void Keep(const std::string& key, const Outcome& outcome);

  std::string compiler_;
  size_t kept_max_ = 0;
  std::mutex mutex_;  // guards idle_ and kept_
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Worker>> idle_;
  std::list<Kept> kept_;  // the most recently used first
};

}  // namespace kuafu::verify
