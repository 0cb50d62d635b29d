// SPDX-License-Identifier: Apache-2.0
// Limits that more than one module must agree on. A limit of one module belongs in that module.
#pragma once

#include <cstdint>

namespace kuafu {

inline constexpr int64_t kKiB = 1024;
inline constexpr int64_t kMiB = 1024 * kKiB;
inline constexpr int64_t kGiB = 1024 * kMiB;

// Nesting of a JSON document; deeper input is rejected before the parser recurses into it.
inline constexpr int kJsonDepthMax = 64;
// Size of a JSON document unless the caller says otherwise.
inline constexpr int64_t kJsonBytesMax = 64 * kMiB;
// A source file given by a user: a reference or a candidate.
inline constexpr int64_t kSourceBytesMax = 4 * kMiB;
// One message between two of our processes.
inline constexpr int64_t kFrameBytesMax = 256 * kMiB;

}  // namespace kuafu
