// SPDX-License-Identifier: Apache-2.0
// Counters as JSON, for the way from the process of a candidate to the one that reports.
#pragma once

#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "simt/counters.h"

namespace kuafu::simt {

inline constexpr size_t kJsonKernelsMax = 256;
inline constexpr size_t kJsonLinesMax = 1024;  // of one kernel

// One entry for the launches of one kernel with one configuration, in the order of the first.
std::vector<LaunchCount> Merge(const std::vector<LaunchCount>& launches);
// Of merged launches; beyond the limits, kernels and the lines with fewest instructions are left
// out.
Json CountersToJson(const std::vector<LaunchCount>& merged);
// The text comes from a process that a candidate shares: corrupt if it is not as above.
Result<std::vector<LaunchCount>> CountersFromJson(const Json& json);

}  // namespace kuafu::simt
