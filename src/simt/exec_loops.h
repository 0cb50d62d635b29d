// SPDX-License-Identifier: Apache-2.0
// Which variant of a lane loop runs: one for each set of operands that hold one value for all
// lanes. A loop is a struct with a static template Run over these facts, so that the compiler sees
// them as constants. All operands scalar is a single turn of the general variant.
#pragma once

#include "simt/exec.h"

namespace kuafu::simt {

template <class Loop>
LaneFn PickTwo(unsigned scalar) {
  switch (scalar & 3) {
    case 1: return Loop::template Run<true, false>;
    case 2: return Loop::template Run<false, true>;
    default: return Loop::template Run<false, false>;
  }
}

template <class Loop>
LaneFn PickThree(unsigned scalar) {
  switch (scalar & 7) {
    case 1: return Loop::template Run<true, false, false>;
    case 2: return Loop::template Run<false, true, false>;
    case 3: return Loop::template Run<true, true, false>;
    case 4: return Loop::template Run<false, false, true>;
    case 5: return Loop::template Run<true, false, true>;
    case 6: return Loop::template Run<false, true, true>;
    default: return Loop::template Run<false, false, false>;
  }
}

}  // namespace kuafu::simt
