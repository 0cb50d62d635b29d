// SPDX-License-Identifier: Apache-2.0
// Where the lanes of one access go, found with vector compares before anything is gathered: all to
// one place, one after the other, or chunk by chunk. Most accesses of real kernels are one of the
// first two over the whole block, tiles are so over each chunk, and what is left is gathered.
#pragma once

#include <cstdint>

#include "isa/isa.h"

namespace kuafu::simt {

inline constexpr int kChunk = 8;
inline constexpr int kMaxLanes = 1024;

struct Pattern {
  enum class Shape : uint8_t { kSame, kRun, kChunks };
  enum Chunk : uint8_t { kGather = 0, kRun8 = 1, kSame8 = 2 };
  Shape shape = Shape::kSame;
  uint64_t first = 0;  // address of the first lane
  // kChunks: of each whole chunk, then of the rest of the lanes as one more (kGather).
  uint8_t chunk[kMaxLanes / kChunk + 1];
  // Address of lane i: base + index[i] * scale, or address[i] if index is nullptr.
  const int32_t* index = nullptr;
  const uint64_t* address = nullptr;
  uint64_t base = 0, scale = 0;

  uint64_t At(int i) const {
    return index != nullptr ? base + static_cast<uint64_t>(int64_t{index[i]}) * scale : address[i];
  }
};

// Both false if a lane is outside of [low, high] (addresses of the first byte) or misaligned;
// `bytes` is the size of one lane's access, n at least 1. What they point to stays the caller's.
bool ClassifyIndex(Pattern& p, const int32_t* index, int n, uint64_t base, uint64_t scale,
                   uint64_t low, uint64_t high, uint32_t bytes);
bool ClassifyAddress(Pattern& p, const uint64_t* address, int n, uint64_t low, uint64_t high,
                     uint64_t align, uint32_t bytes);

// dst[c] + i * size gets component c of lane i, for the shapes other than kSame. Each dst[c] may be
// the pattern's own index register.
void Gather(const Pattern& p, int n, int size, int components, uint8_t* const* dst);
// The way back; a source with stride 0 has one value for all. Lanes in ascending order, so that the
// last one wins where they meet.
void Scatter(const Pattern& p, int n, int size, int components, const uint8_t* const* src,
             const int* stride);

}  // namespace kuafu::simt
