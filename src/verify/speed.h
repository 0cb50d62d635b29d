// SPDX-License-Identifier: Apache-2.0
// The speed of a right candidate against eager PyTorch, both modelled at the same sizes. Pure: the
// counters and the list of operators come from elsewhere.
//
//   verdict::Speed s = SpeedOf({.profile = *target.profile, .counters = &run.profile, ...});
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "device/profile.h"
#include "task/operators.h"
#include "verdict/verdict.h"

namespace kuafu::verify {

struct SpeedInput {
  const device::Profile& profile;  // static storage
  const Json& counters;            // simt/counters_json.h; null = there are none
  const Result<std::shared_ptr<const task::OperatorList>>& reference;
  bool as_written = false;   // the sizes are those of the file
  int64_t output_bytes = 0;  // that a candidate cannot avoid to write
  // Of PyTorch, that computed something for the candidate beside its kernels.
  std::vector<std::string> operators;
};
verdict::Speed SpeedOf(const SpeedInput& input);

// Time in which the GPU cannot have written so many bytes: what its L2 may still hold leaves at the
// L2's speed, the rest at the full bandwidth of the data sheet. 0 = such figures are not public.
double FloorUs(const device::Profile& profile, int64_t written_bytes);

// Why a speed is an offence, empty = it is none: faster than `FloorUs` by more than the model may
// be wrong.
std::string WhyImpossible(const verdict::Speed& speed);

}  // namespace kuafu::verify
