// SPDX-License-Identifier: Apache-2.0
// Sums over counters that bounds and the time model share. Units are said by the names.
#pragma once

#include "device/occupancy.h"
#include "simt/counters.h"

namespace kuafu::perf {

inline constexpr double kIssuePerClock = 4;  // warp instructions of 32 lanes: one for each SM part
inline constexpr double kSectorBytes = 32;

double SectorsToL2(const simt::Count& count);
double DramSectors(const simt::Count& count);
// That global requests take in the L1 of an SM.
double L1Clocks(const simt::Count& count);
// Of the busiest pipe of an SM, for warps of `width` lanes, when `integer_share` of the integer
// instructions are really there.
double ArithmeticClocks(const device::SmModel& sm, const simt::LaunchCount& count, double width,
                        double integer_share);

}  // namespace kuafu::perf
