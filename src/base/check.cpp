// SPDX-License-Identifier: Apache-2.0
// The failing path of KUAFU_CHECK, out of line so that a check costs one compare and one branch.
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace kuafu {

void CheckFailed(const char* file, int line, const char* expression, const char* message) {
  std::fprintf(stderr, "%s:%d: check failed: %s: %s\n", file, line, expression, message);
  std::fflush(stderr);
  std::abort();
}

}  // namespace kuafu
