// SPDX-License-Identifier: Apache-2.0
// The commands behind the verbs of the `kuafu` program. Each prints its result on stdout, errors on
// stderr, and returns the exit status.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace kuafu::cli {

// One exit status per reason, so that scripts can branch.
enum ExitStatus : int {
  kOk = 0,
  kNegative = 1,
  kUsage = 2,
  kEnvironment = 3,
  kInternal = 4,
  kInterrupted = 5
};
ExitStatus StatusOf(const Error& error);

struct RunOptions {
  std::string file;  // .cu or .mu with a main()
  std::string target = "sim:h100";
  int warp_width = 0;  // 0 = the target's own
  uint64_t seed = 0;   // order of warps, blocks and atomics; 0 = lock-step
  bool sanitize = true;
  bool json = false;
  int timeout_s = 60;
  std::vector<std::string> arguments;  // of the program
};
ExitStatus Run(const RunOptions& options);

// Runs the bundled programs: right ones, and one for each of several defects. kOk when each got its
// class.
ExitStatus Demo(bool json);

ExitStatus Doctor(bool json);

}  // namespace kuafu::cli
