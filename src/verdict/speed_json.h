// SPDX-License-Identifier: Apache-2.0
// JSON of the speed in a verdict; null where it was not asked for.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "verdict/verdict.h"

namespace kuafu::verdict {

Json SpeedToJson(const Speed& speed);
Result<Speed> SpeedFromJson(const Json& json);

}  // namespace kuafu::verdict
