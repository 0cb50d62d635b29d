// SPDX-License-Identifier: Apache-2.0
// A cache as the time model sees it: lines of 128 bytes in four sectors that are filled one by one,
// least recently used line replaced. Neighbouring lines lie in neighbouring sets, so that a kernel
// that streams does so through the tags as well; larger steps are spread by a hash.
#pragma once

#include <cstdint>
#include <vector>

namespace kuafu::simt {

class SectorCache {
 public:
  static constexpr uint32_t kLineBytes = 128, kSectorBytes = 32;
  // No bytes: nothing is ever found.
  SectorCache(uint64_t bytes, uint32_t ways);
  void Clear();
  // The sectors of `mask` (4 bits) that were there; afterwards all of them are.
  uint32_t Read(uint64_t line, uint32_t mask);
  // The sectors of `mask` that were dirty already; afterwards all of them are there and dirty.
  uint32_t Write(uint64_t line, uint32_t mask);
  // As Read, but a line that is not there is not brought in.
  uint32_t Probe(uint64_t line, uint32_t mask);
  uint64_t bytes() const { return uint64_t{sets_} * ways_ * kLineBytes; }

 private:
  // Ways of a set in the order of their last use.
  struct Way {
    uint32_t tag = 0;
    uint8_t present = 0, dirty = 0;
    uint16_t epoch = 0;  // of another epoch: empty
  };
  Way* Find(uint64_t line);
  Way* Claim(uint64_t line);
  Way* Set(uint64_t line);

  uint32_t sets_ = 0, ways_ = 0;
  uint16_t epoch_ = 1;
  std::vector<Way> entries_;
};

}  // namespace kuafu::simt
