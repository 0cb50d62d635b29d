// SPDX-License-Identifier: Apache-2.0
// A limit on the time of another process that a busy machine cannot make it miss: time in which it
// was ready to run and had no processor does not count. Sleeping and waiting count, and so do the
// processor seconds of all its threads together.
//
//   os::FairDeadline deadline(child.pid(), 10'000);
//   while (KUAFU_TRY_STATUS(deadline.Check()), !done) channel.Receive(max, deadline.Next());
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/result.h"
#include "os/clock.h"

namespace kuafu::os {

class FairDeadline {
 public:
  // A machine so busy that this many limits pass on the wall gives no answer at all.
  static constexpr int64_t kStarvedFactor = 30;

  // From now on. `pid` must not be reaped while this is in use; where /proc does not tell how long
  // a process has waited, wall time counts.
  FairDeadline(pid_t pid, int64_t limit_ms);

  // Errors: deadline = the process has used up its time; unavailable = it never got to run.
  Status Check();
  // When Check() can fail next: how long to wait for the process before asking again.
  Deadline Next() const;
  // What the process has waited for us is not its time.
  void Add(int64_t ns);

 private:
  struct Usage {
    int64_t cpu_ns = 0;    // of all threads
    int64_t ready_ns = 0;  // the first thread's wait for a processor
  };
  Usage Read() const;

  pid_t pid_;
  int64_t limit_ns_, begin_ns_, next_ns_;
  Usage at_begin_;
};

}  // namespace kuafu::os
