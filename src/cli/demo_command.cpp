// SPDX-License-Identifier: Apache-2.0
// `kuafu demo`: the bundled programs one after the other, each with the exit status it must have.
#include <cstdio>

#include "cli/cli.h"

namespace kuafu::cli {
namespace {

struct Program {
  const char* file;
  const char* target;
  const char* about;
  ExitStatus expected;
};

constexpr Program kPrograms[] = {
    {"warp_reduction.cu", "sim:h100", "a correct reduction in CUDA", kOk},
    {"block_sum.mu", "sim:mtt-s4000", "a correct reduction in MUSA, on 128-lane warps", kOk},
    {"race_missing_barrier.cu", "sim:h100", "a barrier is missing between write and read",
     kNegative},
    {"oob_missing_guard.cu", "sim:h100", "the last block runs past the end of the array",
     kNegative},
    {"uninit_accumulator.cu", "sim:h100", "adds to memory that nobody has set", kNegative},
    {"misaligned_float4.cu", "sim:h100", "a vector load from an odd address", kNegative},
    {"barrier_in_branch.cu", "sim:h100", "a barrier that half of the block never reaches",
     kNegative},
};

}  // namespace

ExitStatus Demo(bool json) {
  int surprises = 0;
  for (const Program& program : kPrograms) {
    if (!json) std::printf("\n-- %s: %s\n", program.file, program.about);
    std::fflush(stdout);
    const RunOptions options{.file = std::string(KUAFU_PROGRAMS_DIR "/") + program.file,
                             .target = program.target,
                             .json = json};
    if (Run(options) != program.expected) ++surprises;
  }
  if (!json)
    std::printf("\n%d of %zu programs got the result they should\n",
                static_cast<int>(std::size(kPrograms)) - surprises, std::size(kPrograms));
  return surprises == 0 ? kOk : kNegative;
}

}  // namespace kuafu::cli
