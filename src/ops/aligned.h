// SPDX-License-Identifier: Apache-2.0
// Memory that starts at a cache line. Not templates: files that are compiled for one instruction
// set use it, too.
#pragma once

#include <cstdint>

namespace kuafu::ops {

// Not null; ends the program when there is no memory, as new does. `bytes` >= 0.
void* AllocateAligned(int64_t bytes);
void FreeAligned(void* block);

}  // namespace kuafu::ops
