// SPDX-License-Identifier: Apache-2.0
// A process that has parsed the headers of one dialect for one half, device or host, and compiles
// each source in a child of its own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cli/compiler_child.h"
#include "klang/klang.h"
#include "os/channel.h"
#include "os/fd.h"

namespace kuafu::cli {

enum class Half : uint8_t { kDevice, kHost };

struct ZygoteJob {
  const klang::CompileRequest* request = nullptr;  // borrowed for the call
  int64_t timeout_ms = 20'000;
};

struct ZygoteAnswer {
  ChildEnd end;
  klang::HalfResult result;  // without bytes; when end.exit_code is 0
  os::UniqueFd bytes;        // a memory file: the module or the object
};

class Zygote {
 public:
  static Result<Zygote> Start(Half half, const klang::HeaderSet& set);
  Zygote(Zygote&& other) noexcept;
  Zygote& operator=(Zygote&& other) = delete;
  ~Zygote();

  // Then exactly one Finish. Between the two, Cancel ends the work early.
  Status Begin(const ZygoteJob& job);
  Status Cancel();
  // An Error means that the installation is broken or the zygote has died.
  Result<ZygoteAnswer> Finish();

  Half half() const { return half_; }
  const klang::HeaderSet& set() const { return set_; }

 private:
  Zygote(Half half, klang::HeaderSet set, os::Channel channel, pid_t pid);
  Half half_;
  klang::HeaderSet set_;
  os::Channel channel_;
  pid_t pid_ = -1;
  os::UniqueFd report_, bytes_;
  int64_t timeout_ms_ = 0;
};

}  // namespace kuafu::cli
