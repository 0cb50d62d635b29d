// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 and the unbiased bounded draw.
#include "base/rng.h"

#include "base/check.h"

namespace kuafu {

int64_t SplitMix64::Below(int64_t bound) {
  KUAFU_CHECK(bound > 0, "bound of a random draw must be positive");
  // Lemire's multiplication; the rejection makes it exact.
  const auto range = static_cast<uint64_t>(bound);
  const uint64_t threshold = (0 - range) % range;
  while (true) {
    unsigned __int128 product = static_cast<unsigned __int128>(Next()) * range;
    if (static_cast<uint64_t>(product) >= threshold) return static_cast<int64_t>(product >> 64);
  }
}

std::array<uint32_t, 4> Philox4x32Block(std::array<uint32_t, 4> counter,
                                        std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

std::array<uint32_t, 4> Philox4x32(uint64_t seed, uint64_t stream, uint64_t index) {
  return Philox4x32Block({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
                          static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)},
                         {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
}

uint64_t DeriveSeed(uint64_t seed, uint64_t part) {
  SplitMix64 mix(seed ^ (part + 1) * 0xd1342543de82ef95u);
  mix.Next();
  return mix.Next();
}

}  // namespace kuafu
