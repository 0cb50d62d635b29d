// SPDX-License-Identifier: Apache-2.0
// What the commands that verify share: a started verifier, and requests from options.
#pragma once

#include <memory>

#include "cli/cli.h"
#include "verify/verify.h"
#include "verify/work.h"

namespace kuafu::cli {

inline constexpr const char* kDefaultCudaTarget = "sim:h100";
inline constexpr const char* kDefaultMusaTarget = "sim:mtt-s4000";

struct VerifierOptions {
  int compile_workers = 1;
  int runs_max = 0;           // as in verify::Options
  bool cache = true;          // keeps trial sets between runs
  bool keep_compiled = true;  // for candidates that come again
};
// The verifier over the programs beside this one.
Result<std::unique_ptr<verify::Verifier>> StartVerifier(const VerifierOptions& wanted);

Result<std::unique_ptr<verify::WorkLister>> StartWorkLister(int compile_workers);

Result<verify::Request> RequestFrom(const VerifyOptions& options);

}  // namespace kuafu::cli
