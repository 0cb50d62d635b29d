// SPDX-License-Identifier: Apache-2.0
// By the gate of the class: only what compares outputs can be partly right.
#include "verify/reward.h"

#include <algorithm>
#include <cmath>

namespace kuafu::verify {

verdict::Reward RewardOf(const verdict::Verdict& v, const RewardInput& input) {
  using verdict::Class;
  using verdict::Gate;
  verdict::Reward reward;
  if (v.cls == Class::kInfra || v.cls == Class::kInconclusive) return reward;
  reward.scored = true;
  const RewardOptions& options = input.options;
  const Gate gate = verdict::GateOf(v.cls);
  const bool by_outputs = gate == Gate::kSanitize && !options.sanitizer_fails;
  const int right = by_outputs && input.trials_right > 0 ? input.trials_right : v.trials_passed;
  const double q =
      v.trials_total > 0
          ? std::clamp(static_cast<double>(right) / static_cast<double>(v.trials_total), 0.0, 1.0)
          : 0;
  reward.quality = q;
  const bool compared = gate == Gate::kCompare || gate == Gate::kPortable || by_outputs;
  if (!compared || q <= 0) {
    reward.value = -1;
  } else if (v.pass() || (by_outputs && q >= 1)) {
    reward.value = 1;
    if (input.speedup.has_value() && std::isfinite(*input.speedup) && *input.speedup > 0) {
      reward.speed_known = true;
      reward.speedup = *input.speedup;
      reward.value += options.lambda * std::min(std::max(*input.speedup - 1, 0.0), options.v_max);
    }
  } else {
    // A class that failed with every trial counted as right is still a failure of one of them.
    reward.value = -0.5 + 0.5 * std::min(q, 1 - 1e-9);
  }
  return reward;
}

}  // namespace kuafu::verify
