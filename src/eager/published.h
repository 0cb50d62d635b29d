// SPDX-License-Identifier: Apache-2.0
// Times that others published, from files of their user's checkout.
//
//   KUAFU_TRY(auto times, eager::ParseKernelBench(text));   // baseline_time_torch.json
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kuafu::eager {

struct PublishedTime {
  std::string id;  // "level1/19_ReLU.py"
  std::string hardware;
  std::string profile;  // empty = of no profile
  double ms = 0;        // mean
};

// "NVIDIA H100 80GB HBM3" -> "h100"; empty if there is no such profile.
std::string ProfileOfHardware(std::string_view hardware);

// {"level1": {"19_ReLU.py": {"mean": 7.0, "hardware": "..."}}}; entries without a time are skipped.
Result<std::vector<PublishedTime>> ParseKernelBench(std::string_view text);

// Why a time is of another task than the file of that name is today; nullptr = it is not known to
// be.
const char* ChangedSince(const PublishedTime& time);

}  // namespace kuafu::eager
