// SPDX-License-Identifier: Apache-2.0
#include "ops/aligned.h"

#include <cstdlib>

#include "base/check.h"

namespace kuafu::ops {

void* AllocateAligned(int64_t bytes) {
  constexpr int64_t kLine = 64;
  const int64_t rounded = (bytes + kLine - 1) / kLine * kLine;
  void* const block = std::aligned_alloc(kLine, static_cast<size_t>(rounded > 0 ? rounded : kLine));
  KUAFU_CHECK(block != nullptr, "out of memory");
  return block;
}

void FreeAligned(void* block) { std::free(block); }

}  // namespace kuafu::ops
