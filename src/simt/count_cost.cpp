// SPDX-License-Identifier: Apache-2.0
// Requests of memory instructions: sectors and lines of global memory, bank passes of shared
// memory, lanes that meet at one address. And the memory of patterns that were seen before.
#include <algorithm>
#include <cstring>

#include "simt/count.h"

namespace kuafu::simt {
namespace {

constexpr uint32_t kBanks = 32, kWordBytes = 4;
constexpr int kGroupLanes = 32;  // of a wider warp that a memory unit serves at once: an assumption
constexpr int kSlots = 512;      // of the table below; more than twice the keys of one request

// A small table of numbers, emptied by a step of its epoch.
class Table {
 public:
  void Clear() {
    if (++epoch_ == 0) {
      std::fill(std::begin(epochs_), std::end(epochs_), 0u);
      epoch_ = 1;
    }
  }
  // The value of the key, 0 when it is new.
  uint32_t& operator[](uint64_t key) {
    auto at = static_cast<uint32_t>((key * 0x9e3779b97f4a7c15ull) >> 55);
    while (epochs_[at] == epoch_ && keys_[at] != key) at = (at + 1) % kSlots;
    if (epochs_[at] != epoch_) {
      epochs_[at] = epoch_;
      keys_[at] = key;
      values_[at] = 0;
    }
    return values_[at];
  }

 private:
  uint64_t keys_[kSlots];
  uint32_t values_[kSlots];
  uint32_t epochs_[kSlots] = {};
  uint32_t epoch_ = 0;
};
static_assert(kSlots == 1 << (64 - 55));

thread_local Table table;  // 8 KiB that is always warm; holds nothing between calls

// One request: the lanes [from, to) of `lanes`.
void GlobalRequest(const LaneAddresses& lanes, int from, int to, uint64_t first_line,
                   RequestCost* cost) {
  const size_t begin = cost->touches.size();
  table.Clear();
  int active = 0;
  // Lanes mostly stay in the line of the lane before.
  size_t last = SIZE_MAX;
  uint64_t last_line = 0;
  for (int i = from; i < to; ++i) {
    if (lanes.mask != nullptr && lanes.mask[i] == 0) continue;
    ++active;
    uint64_t sector = lanes.offset[i] / SectorCache::kSectorBytes;
    const uint64_t end = (lanes.offset[i] + lanes.bytes - 1) / SectorCache::kSectorBytes;
    for (; sector <= end; ++sector) {
      const uint64_t line = sector / 4;
      if (last == SIZE_MAX || line != last_line) {
        uint32_t& place = table[line];  // 1 + index in touches, beyond begin
        if (place == 0) {
          cost->touches.push_back({static_cast<int64_t>(line - first_line), 0});
          place = static_cast<uint32_t>(cost->touches.size() - begin);
        }
        last = begin + place - 1;
        last_line = line;
      }
      cost->touches[last].sectors |= 1u << (sector % 4);
    }
  }
  if (active == 0) return;
  ++cost->requests;
  cost->lanes += static_cast<uint32_t>(active);
  for (size_t i = begin; i < cost->touches.size(); ++i)
    cost->sectors += static_cast<uint32_t>(__builtin_popcount(cost->touches[i].sectors));
}

// Bank passes of up to 32 lanes. Accesses of 8 and 16 bytes go in halves and quarters.
void SharedGroup(const LaneAddresses& lanes, int from, int to, RequestCost* cost) {
  // One place for all is a broadcast, however wide.
  bool broadcast = true;
  int some = -1;
  for (int i = from; i < to; ++i) {
    if (lanes.mask != nullptr && lanes.mask[i] == 0) continue;
    broadcast = broadcast && (some < 0 || lanes.offset[i] == lanes.offset[some]);
    some = i;
    ++cost->lanes;
  }
  if (some < 0) return;
  if (broadcast) {
    ++cost->passes;
    ++cost->passes_ideal;
    return;
  }
  const int step = lanes.bytes <= 4 ? kGroupLanes : lanes.bytes <= 8 ? 16 : 8;
  for (int part = from; part < to; part += step) {
    uint8_t depth[kBanks] = {};
    uint32_t passes = 0;
    int active = 0;
    table.Clear();
    for (int i = part; i < std::min(part + step, to); ++i) {
      if (lanes.mask != nullptr && lanes.mask[i] == 0) continue;
      ++active;
      uint64_t word = lanes.offset[i] / kWordBytes;
      const uint64_t end = (lanes.offset[i] + lanes.bytes - 1) / kWordBytes;
      for (; word <= end; ++word) {
        uint32_t& seen = table[word];
        if (seen != 0) continue;
        seen = 1;
        passes = std::max<uint32_t>(passes, ++depth[word % kBanks]);
      }
    }
    if (active == 0) continue;
    // Lanes with more than 16 bytes need more than one pass whatever their addresses.
    const uint32_t words = (lanes.bytes + kWordBytes - 1) / kWordBytes;
    const auto full = static_cast<uint32_t>(active) * words;
    cost->passes += passes;
    cost->passes_ideal += std::min(passes, std::max(1u, (full + kBanks - 1) / kBanks));
  }
}

// Lanes that meet at one address take turns.
uint32_t Meeting(const LaneAddresses& lanes, int from, int to) {
  table.Clear();
  uint32_t most = 0;
  for (int i = from; i < to; ++i) {
    if (lanes.mask == nullptr || lanes.mask[i] != 0)
      most = std::max(most, ++table[lanes.offset[i]]);
  }
  return most;
}

bool SameIndex(const int32_t* a, const int32_t* b, int n) {
  // Unsigned: a difference may wrap, and does so on both sides.
  const auto shift = static_cast<uint32_t>(a[0]) - static_cast<uint32_t>(b[0]);
  uint32_t differ = 0;
  for (int i = 0; i < n; ++i)
    differ |= static_cast<uint32_t>(a[i]) - static_cast<uint32_t>(b[i]) - shift;
  return differ == 0;
}

bool SameOffsets(const uint64_t* a, const uint64_t* b, int n, uint64_t shift) {
  uint64_t differ = 0;
  for (int i = 0; i < n; ++i) differ |= a[i] - b[i] - shift;
  return differ == 0;
}

// What of the first lane's address matters besides the distances.
uint32_t PhaseOf(CostKind kind, uint64_t offset) {
  return static_cast<uint32_t>(offset %
                               (kind == CostKind::kShared ? kWordBytes : SectorCache::kLineBytes));
}

}  // namespace

void RequestCost::Clear() {
  requests = lanes = sectors = bytes = passes = passes_ideal = serial = 0;
  touches.clear();
}

void FindCost(const LaneAddresses& lanes, CostKind kind, RequestCost* cost) {
  cost->Clear();
  int first = 0;
  while (lanes.mask != nullptr && first < lanes.n - 1 && lanes.mask[first] == 0) ++first;
  const uint64_t first_line = lanes.offset[first] / SectorCache::kLineBytes;
  // The ends of warps in the list of lanes.
  for (int from = 0; from < lanes.n;) {
    const int warp_end = ((lanes.lo + from) / lanes.width + 1) * lanes.width - lanes.lo;
    const int to = std::min(warp_end, lanes.n);
    if (kind == CostKind::kShared) {
      const uint32_t before = cost->lanes;
      for (int part = from; part < to;) {
        const int end = ((lanes.lo + part) / kGroupLanes + 1) * kGroupLanes - lanes.lo;
        SharedGroup(lanes, part, std::min(end, to), cost);
        part = std::min(end, to);
      }
      cost->requests += cost->lanes > before;
    } else {
      GlobalRequest(lanes, from, to, first_line, cost);
    }
    if (kind == CostKind::kAtomic) cost->serial += Meeting(lanes, from, to);
    from = to;
  }
  cost->bytes = cost->lanes * lanes.bytes;
}

CostMemo::Entry& CostMemo::Fresh() {
  if (misses_ < kMissesMax) ++misses_;
  if (entries_.size() < kEntriesMax) {
    entries_.push_back(std::make_unique<Entry>());
    return *entries_.back();
  }
  next_ = (next_ + 1) % kEntriesMax;
  return *entries_[next_];
}

const RequestCost& CostMemo::OfIndex(const int32_t* index, uint64_t first, uint64_t scale,
                                     const LaneAddresses& lanes, CostKind kind, uint64_t* scratch) {
  const uint32_t phase = PhaseOf(kind, first);
  if (misses_ < kMissesMax) {
    for (const auto& e : entries_) {
      if (e->by_index && e->lo == lanes.lo && e->n == lanes.n && e->phase == phase &&
          e->kind == kind && SameIndex(index, e->index.data(), lanes.n)) {
        misses_ = 0;
        return e->cost;
      }
    }
  }
  for (int i = 0; i < lanes.n; ++i)
    scratch[i] = first + static_cast<uint64_t>(int64_t{index[i]} - int64_t{index[0]}) * scale;
  Entry& e = Fresh();
  LaneAddresses full = lanes;
  full.offset = scratch;
  FindCost(full, kind, &e.cost);
  e.lo = lanes.lo;
  e.n = lanes.n;
  e.phase = phase;
  e.kind = kind;
  e.by_index = true;
  if (misses_ < kMissesMax)
    e.index.assign(index, index + lanes.n);
  else
    e.n = -1;  // is not looked for
  return e.cost;
}

const RequestCost& CostMemo::OfOffsets(const LaneAddresses& lanes, int first_lane, CostKind kind) {
  const uint64_t first = lanes.offset[first_lane];
  const uint32_t phase = PhaseOf(kind, first);
  const bool dense = lanes.mask == nullptr;
  const auto n = static_cast<size_t>(lanes.n);
  if (misses_ < kMissesMax) {
    for (const auto& e : entries_) {
      if (!e->by_index && e->lo == lanes.lo && e->n == lanes.n && e->phase == phase &&
          e->kind == kind && e->bytes == lanes.bytes && e->dense == dense &&
          (dense || std::memcmp(e->mask.data(), lanes.mask, n) == 0) &&
          SameOffsets(lanes.offset, e->offset.data(), lanes.n,
                      first - e->offset[static_cast<size_t>(first_lane)])) {
        misses_ = 0;
        return e->cost;
      }
    }
  }
  Entry& e = Fresh();
  FindCost(lanes, kind, &e.cost);
  e.lo = lanes.lo;
  e.n = lanes.n;
  e.phase = phase;
  e.kind = kind;
  e.bytes = lanes.bytes;
  e.by_index = false;
  e.dense = dense;
  if (misses_ < kMissesMax) {
    e.offset.assign(lanes.offset, lanes.offset + lanes.n);
    if (!dense) e.mask.assign(lanes.mask, lanes.mask + lanes.n);
  } else {
    e.n = -1;  // is not looked for
  }
  return e.cost;
}

}  // namespace kuafu::simt
