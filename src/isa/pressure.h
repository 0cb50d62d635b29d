// SPDX-License-Identifier: Apache-2.0
// How many 32-bit registers a thread of a kernel needs: an estimate from the live ranges of the
// device module, for occupancy where no vendor's compiler is at hand to say.
//
//   uint32_t registers = isa::EstimateRegisters(module, kernel).registers;
//
// The module is not optimised as ptxas would, so the figure is labelled an estimate wherever it is
// shown.
#pragma once

#include <cstdint>

#include "isa/isa.h"

namespace kuafu::isa {

struct RegisterEstimate {
  uint32_t registers = 0;  // per thread, as a compiler would allot them
  uint32_t live_max = 0;   // 32-bit values that live at once at the worst place
  uint32_t line = 0;       // of that place: index in Module::lines
};
RegisterEstimate EstimateRegisters(const Module& module, uint32_t kernel);

}  // namespace kuafu::isa
