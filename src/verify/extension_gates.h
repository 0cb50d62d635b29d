// SPDX-License-Identifier: Apache-2.0
// The gates for a candidate in extension form. There is one process for compiling, legality and
// running, because the candidate itself decides when its extensions are built.
#pragma once

#include <string>

#include "base/result.h"
#include "verdict/verdict.h"
#include "verify/extension.h"
#include "verify/trial_store.h"
#include "verify/verify.h"

namespace kuafu::verify {

struct ExtensionServices {
  ExtensionHost& host;
  CompilePool& compilers;
  TrialStore& trials;
};

// `v` has task, target, plan and hash; `text` is the file, possibly with prose and fences around.
Result<verdict::Verdict> VerifyExtension(const ExtensionServices& services, const Request& request,
                                         verdict::Verdict v, const std::string& text,
                                         uint64_t drawn_seed);

}  // namespace kuafu::verify
