// SPDX-License-Identifier: Apache-2.0
// The modelled cache, see cache.h.
#include "simt/cache.h"

#include <algorithm>

namespace kuafu::simt {
namespace {

constexpr int kChunkLog2 = 5;  // lines that lie side by side

}  // namespace

SectorCache::SectorCache(uint64_t bytes, uint32_t ways) {
  const uint64_t lines = bytes / kLineBytes;
  ways_ = static_cast<uint32_t>(std::min<uint64_t>(ways, lines));
  sets_ = ways_ == 0 ? 0 : static_cast<uint32_t>(std::min<uint64_t>(lines / ways_, 1u << 24));
  entries_.resize(size_t{sets_} * ways_);
}

void SectorCache::Clear() {
  if (++epoch_ != 0) return;
  std::fill(entries_.begin(), entries_.end(), Way{});
  epoch_ = 1;
}

SectorCache::Way* SectorCache::Set(uint64_t line) {
  const uint64_t chunk = line >> kChunkLog2;
  const uint64_t start = (chunk * 0x9e3779b97f4a7c15ull) >> 32;
  const uint64_t at = (start * sets_ >> 32) + (line & ((1u << kChunkLog2) - 1));
  return entries_.data() + at % sets_ * ways_;
}

// In front afterwards.
SectorCache::Way* SectorCache::Find(uint64_t line) {
  if (sets_ == 0) return nullptr;
  Way* const set = Set(line);
  const auto tag = static_cast<uint32_t>(line);
  for (uint32_t i = 0; i < ways_; ++i) {
    if (set[i].tag != tag || set[i].epoch != epoch_) continue;
    std::rotate(set, set + i, set + i + 1);
    return set;
  }
  return nullptr;
}

// The line is not there: the last way's place is taken.
SectorCache::Way* SectorCache::Claim(uint64_t line) {
  Way* const set = Set(line);
  std::rotate(set, set + ways_ - 1, set + ways_);
  *set = {static_cast<uint32_t>(line), 0, 0, epoch_};
  return set;
}

uint32_t SectorCache::Read(uint64_t line, uint32_t mask) {
  if (sets_ == 0) return 0;
  Way* way = Find(line);
  if (way == nullptr) way = Claim(line);
  const uint32_t hits = way->present & mask;
  way->present |= static_cast<uint8_t>(mask);
  return hits;
}

uint32_t SectorCache::Write(uint64_t line, uint32_t mask) {
  if (sets_ == 0) return 0;
  Way* way = Find(line);
  if (way == nullptr) way = Claim(line);
  const uint32_t dirty = way->dirty & mask;
  way->present |= static_cast<uint8_t>(mask);
  way->dirty |= static_cast<uint8_t>(mask);
  return dirty;
}

uint32_t SectorCache::Probe(uint64_t line, uint32_t mask) {
  const Way* way = Find(line);
  return way == nullptr ? 0 : way->present & mask;
}

}  // namespace kuafu::simt
