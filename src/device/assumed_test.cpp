// SPDX-License-Identifier: Apache-2.0
// Goal: after guessing nothing is unknown, nothing public was changed, and every guess is named.
// Method: all profiles, and figures of one worked out by hand.
#include "device/assumed.h"

#include <gtest/gtest.h>

namespace kuafu::device {
namespace {

TEST(Assumed, NothingIsUnknownAfterwardsAndWhatIsPublicStays) {
  for (const Profile& profile : Profiles()) {
    const Assumption a = Assume(profile);
    int guessed = 0;
    for (const int Profile::* figure :
         {&Profile::sm_count, &Profile::clock_mhz, &Profile::threads_per_sm_max,
          &Profile::blocks_per_sm_max, &Profile::shared_kib_per_sm, &Profile::registers_per_sm,
          &Profile::l2_mib, &Profile::shared_kib_per_block_opt_in}) {
      EXPECT_GT(a.profile.*figure, 0) << profile.name;
      if (profile.*figure == kUnknown) {
        ++guessed;
      } else {
        EXPECT_EQ(a.profile.*figure, profile.*figure) << profile.name;
      }
    }
    for (const double Profile::* figure :
         {&Profile::dram_gb_per_s, &Profile::fp32_tflops, &Profile::fp16_tensor_tflops}) {
      EXPECT_GT(a.profile.*figure, 0) << profile.name;
      if (profile.*figure == kUnknown) ++guessed;
    }
    // And one for the SM's rates.
    EXPECT_EQ(a.guesses.size(), static_cast<size_t>(guessed + (profile.musa ? 1 : 0)))
        << profile.name;
    EXPECT_TRUE(profile.musa || a.guesses.empty()) << profile.name;
  }
}

TEST(Assumed, SmsFollowFromThePublishedPeak) {
  // 25 TFLOPS / (2 x 64 x 1.6 GHz) = 122.07
  EXPECT_EQ(Assume(*FindProfile("mtt-s4000")).profile.sm_count, 122);
  // 14.4 TFLOPS / (2 x 64 x 1.8 GHz) = 62.5
  EXPECT_EQ(Assume(*FindProfile("mtt-s80")).profile.sm_count, 63);
  // 500 / 16 TFLOPS / (2 x 64 x 1.6 GHz) = 152.6
  EXPECT_EQ(Assume(*FindProfile("mtt-s5000")).profile.sm_count, 153);
}

}  // namespace
}  // namespace kuafu::device
