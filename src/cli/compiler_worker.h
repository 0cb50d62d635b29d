// SPDX-License-Identifier: Apache-2.0
// A process that compiles one half, device or host, of one source after the other.
//
// It keeps clang warm: a process that starts afresh for every source, even a forked one, pays for
// each page of clang and of the parsed headers that it touches, several times what compiling a
// kernel takes. Every source gets clang objects of its own; what a crash or a stall may have left
// behind goes with the process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "klang/klang.h"
#include "os/channel.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/memfd.h"

namespace kuafu::cli {

struct CompileJob {
  const klang::CompileRequest* request = nullptr;  // borrowed for the call
  int64_t timeout_ms = 20'000;                     // of CPU time, so that load does not matter
};

// The host halves of an extension's units become one shared object.
struct LinkJob {
  std::vector<std::string> files;  // the units' names
  std::vector<int> objects;        // memory files, parallel; borrowed until Finish
  int64_t timeout_ms = 20'000;
};

struct CompileAnswer {
  bool timed_out = false;
  std::string crash;         // how the process ended over this source; empty = it did not
  klang::HalfResult result;  // without bytes; when neither of the above
  os::UniqueFd bytes;        // a memory file: the module, the object or the shared object
};

// The list of strings under `key`.
Result<std::vector<std::string>> StringsOf(const Json& object, const char* key);

// The process is started when it is needed, and again when it has ended over a source. One thread.
class CompileWorker {
 public:
  CompileWorker(klang::Half half, klang::HeaderSet set) : half_(half), set_(std::move(set)) {}
  CompileWorker(const CompileWorker&) = delete;
  CompileWorker& operator=(const CompileWorker&) = delete;
  ~CompileWorker() { End(); }

  // Starts the process, which parses its headers meanwhile.
  Status Start();
  // Then exactly one Finish.
  Status Begin(const CompileJob& job);
  Status BeginLink(const LinkJob& job);  // of a worker for host halves
  // An Error means that this installation is broken.
  Result<CompileAnswer> Finish();

  // Readable when Finish will not wait.
  int fd() const { return channel_.fd(); }
  klang::Half half() const { return half_; }
  const klang::HeaderSet& set() const { return set_; }

 private:
  Status SendJob();
  Status TakeHeaders(const os::Deadline& deadline);
  Result<CompileAnswer> FinishOnce();
  // Kills and reaps; the status that waitpid gave.
  int End();

  klang::Half half_;
  klang::HeaderSet set_;
  os::Mapping headers_;  // what the first process has parsed, for those after it
  os::Channel channel_;
  os::UniqueFd stderr_;
  pid_t pid_ = -1;
  int64_t served_ = 0;   // by the process that runs now
  bool killed_ = false;  // the last one that ended was, by somebody else
  std::string job_;      // the request, for a second try
  std::vector<int> job_fds_;
  int64_t timeout_ms_ = 0;
};

}  // namespace kuafu::cli
