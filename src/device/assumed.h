// SPDX-License-Identifier: Apache-2.0
// A profile in which what is not public stands as a guess, for those who must have a number: a time
// model. Each guess is named with its reason, so that a report can say what it rests on.
//
//   device::Assumption a = device::Assume(*target.profile);
//   a.profile.sm_count, a.guesses   // "64 SMs: FP32 peak over 2 x 64 lanes x clock"
#pragma once

#include <string>
#include <vector>

#include "device/profile.h"

namespace kuafu::device {

struct Assumption {
  Profile profile;                   // no figure of it is unknown
  std::vector<std::string> guesses;  // empty = all of it is public
};
Assumption Assume(const Profile& profile);

}  // namespace kuafu::device
