// SPDX-License-Identifier: Apache-2.0
// What the commands that verify share: a started verifier, and requests from options.
#pragma once

#include <memory>

#include "cli/cli.h"
#include "verify/verify.h"

namespace kuafu::cli {

// The verifier over the programs beside this one. `cache` keeps trial sets between runs.
Result<std::unique_ptr<verify::Verifier>> StartVerifier(int compile_workers, bool cache,
                                                        bool keep_compiled = true);

Result<verify::Request> RequestFrom(const VerifyOptions& options);

}  // namespace kuafu::cli
