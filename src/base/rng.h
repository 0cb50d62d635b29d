// SPDX-License-Identifier: Apache-2.0
// Seeded random numbers that are the same on every machine and in every version of the standard
// library. Two generators: SplitMix64 for a sequence (orders, choices), Philox4x32-10 for "number i
// of stream s", which needs no state and so does not depend on the order in which values are drawn.
//
//   SplitMix64 rng(seed);   int64_t k = rng.Below(10);
//   uint32_t bits = Philox4x32(seed, stream, index)[0];
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace kuafu {

class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound), without modulo bias. Precondition: bound > 0.
  int64_t Below(int64_t bound);
  // Uniform in [0, 1), 53 bits.
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  // Fisher-Yates; the permutation depends on the seed and the size only.
  template <class T>
  void Shuffle(std::span<T> items) {
    for (size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[static_cast<size_t>(Below(static_cast<int64_t>(i)))]);
    }
  }

 private:
  uint64_t state_;
};

// Philox4x32-10 (Salmon et al. 2011): 128 random bits for (seed, stream, index).
std::array<uint32_t, 4> Philox4x32(uint64_t seed, uint64_t stream, uint64_t index);

// The function behind it: ten rounds over a 128-bit counter and a 64-bit key.
std::array<uint32_t, 4> Philox4x32Block(std::array<uint32_t, 4> counter,
                                        std::array<uint32_t, 2> key);

// A seed for a part of the work that must not depend on its siblings.
uint64_t DeriveSeed(uint64_t seed, uint64_t part);

}  // namespace kuafu
