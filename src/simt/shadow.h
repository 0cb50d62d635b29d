// SPDX-License-Identifier: Apache-2.0
// Race detection: the last write and the last read of every granule, the largest unit that no
// access of the memory in question splits (4 bytes at most), so that two lanes in one word are told
// apart. Cells hold a tick that grows at every synchronisation and never goes back, so nothing is
// cleared: a barrier makes all older cells of the block harmless at once, a launch all older ones.
// Shared memory has its own, narrower cells, which a whole chunk of lanes updates in a few vector
// instructions (shared_shadow.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace kuafu::simt {

struct Allocation;
class Memory;

struct Cell {
  uint32_t tick = 0;  // 0 = empty
  uint32_t line = 0;
  uint32_t block = 0;
  uint16_t lane = 0;
  uint16_t flags = 0;
};
inline constexpr uint16_t kCellAtomic = 1;
inline constexpr uint16_t kCellSeveral = 2;        // more lanes of the block than the one named
inline constexpr uint16_t kCellSeveralWarps = 4;   // and of more than one warp
inline constexpr uint16_t kCellSeveralBlocks = 8;  // readers of other blocks are in the chain
static_assert(sizeof(Cell) == 16);

// What of another block happened before: everything older than `all`, and more of a few lanes or
// warps, for a release by one thread says nothing of threads it has not met at a barrier. When
// there is no room, all lanes are taken to be as far: a race may be missed, none is made up.
struct Seen {
  static constexpr uint32_t kWarp = 1u << 16;  // in `who`: a warp, not a lane
  struct Part {
    uint32_t who = 0, tick = 0;
  };
  uint32_t all = 0;
  uint32_t count = 0;
  std::array<Part, 4> parts;

  void Add(uint32_t who, uint32_t tick);
  void Merge(const Seen& other);
  bool Covers(const Cell& cell, int width_log2) const {
    if (cell.tick < all) return true;
    for (uint32_t i = 0; i < count; ++i) {
      if (cell.tick >= parts[i].tick) continue;
      if (parts[i].who == cell.lane && (cell.flags & kCellSeveral) == 0) return true;
      if (parts[i].who == (kWarp | static_cast<uint32_t>(cell.lane >> width_log2)) &&
          (cell.flags & kCellSeveralWarps) == 0)
        return true;
    }
    return false;
  }
};

// What orders one block's accesses, and those of others with respect to it.
struct BlockSync {
  uint32_t block = 0;
  int width = 32, width_log2 = 5;
  uint32_t tick = 1;
  uint32_t barrier_tick = 1;        // older cells of this block are ordered
  std::vector<uint32_t> lane_tick;  // at the lane's last warp synchronisation
  std::vector<uint32_t>
      lane_acquired;  // what of its own block the lane sees through a lock or flag
  std::vector<uint8_t>
      fenced;  // the lane's writes are published by its next atomic: 1 to the block, 2 to all
  std::unordered_map<uint32_t, Seen> acquired;  // by other block

  void Reset(uint32_t new_block, int lanes, int new_width);
  void Barrier() { barrier_tick = ++tick; }
};

struct Conflict {
  bool found = false;
  bool other_wrote = false;
  Cell other;
};

struct Touched {
  Conflict conflict;  // with the first earlier access that is not ordered
  Cell cell;          // what the write cell (of a write) or else the read cell becomes
};
// Nothing older than grid_tick counts.
Touched Touch(const Cell& last_write, const Cell& last_read, const BlockSync& sync, int lane,
              bool write, bool atomic, uint32_t line, uint32_t grid_tick);

// Whether everything in the cell happened before what this lane does now. A cell of several lanes
// stands for all of them, so it is ordered only if each of them would be.
inline bool Ordered(const Cell& cell, const BlockSync& sync, int lane, uint32_t grid_tick) {
  if (cell.tick < grid_tick) return true;
  if (cell.block != sync.block) {
    auto it = sync.acquired.find(cell.block);
    return it != sync.acquired.end() && it->second.Covers(cell, sync.width_log2);
  }
  if (cell.tick < sync.barrier_tick || cell.tick < sync.lane_acquired[static_cast<size_t>(lane)])
    return true;
  bool several = (cell.flags & kCellSeveral) != 0;
  if (cell.lane == lane && !several) return true;
  if ((cell.flags & kCellSeveralWarps) != 0 ||
      cell.lane >> sync.width_log2 != lane >> sync.width_log2)
    return false;
  return cell.tick < sync.lane_tick[static_cast<size_t>(lane)] &&
         cell.tick < sync.lane_tick[cell.lane];
}

// The shadow of one allocation: pages made at the first access, the halves for writes and for reads
// on their own, since most memory sees only one of them.
struct ShadowObject {
  struct Page {
    std::unique_ptr<Cell[]> write, read;
    std::unique_ptr<uint32_t[]> chain;  // per granule: first node, see GlobalShadow
  };
  uint64_t base = 0;  // address of page 0
  int granule_log2 = 2;
  std::vector<Page> pages;
};

class GlobalShadow {
 public:
  static constexpr size_t kPageBytes = 4096;         // of the memory shadowed
  static constexpr size_t kMaxBytes = 512ull << 20;  // of shadow
  // A granule's readers in other blocks than the last; more are forgotten.
  static constexpr int kMaxChain = 8;
  static constexpr size_t kMaxChainNodes = 1u << 20;

  // Ticks below grid_tick are of earlier launches from here on.
  void BeginLaunch(const Memory& memory);
  void EndLaunch(uint32_t last_tick);
  bool limited() const { return limited_; }
  size_t max_bytes = kMaxBytes;

  // Whole run of lanes, each with the `bytes` behind its neighbour's, plain accesses. Returns how
  // many lanes met nothing and are recorded; the next one is for Note.
  int WriteRun(uint32_t id, const Allocation& allocation, uint64_t address, int lanes,
               uint32_t bytes, const BlockSync& sync, int lane, uint32_t line);
  int ReadRun(uint32_t id, const Allocation& allocation, uint64_t address, int lanes,
              uint32_t bytes, const BlockSync& sync, int lane, uint32_t line);
  // One lane, any access: the first conflict.
  Conflict Note(uint32_t id, const Allocation& allocation, uint64_t address, uint32_t bytes,
                const BlockSync& sync, int lane, bool write, bool atomic, uint32_t line);

  // Release and acquire by a lane on the object at this address. Without `device` only the same
  // block sees it.
  void Release(uint64_t address, BlockSync& sync, int lane, bool device);
  void Acquire(uint64_t address, BlockSync& sync, int lane);
  uint32_t grid_tick = 1;  // accesses before are ordered by a grid-wide barrier
  // Allocations only read in this launch need no record. Indexed by allocation id.
  std::vector<uint8_t> read_only;

 private:
  struct Node {
    Cell cell;
    uint32_t next = 0;  // 0 = none
  };
  ShadowObject* Object(uint32_t id, const Allocation& allocation, uint64_t address, uint32_t bytes);
  bool Refine(ShadowObject& object, int granule_log2);
  // nullptr beyond the bound.
  Cell* Half(ShadowObject& object, std::unique_ptr<Cell[]>& half);
  void Drop();

  std::vector<std::unique_ptr<ShadowObject>> objects_;  // by allocation id
  std::vector<uint32_t> used_;                          // ids with an object
  size_t bytes_ = 0;
  bool limited_ = false;
  std::vector<Node> chain_;  // entry 0 unused; of this launch
  std::unordered_map<uint64_t, std::unordered_map<uint32_t, Seen>> released_;
  struct Local {
    uint32_t block = 0, tick = 0;
  };
  std::unordered_map<uint64_t, Local> local_;  // the last release, for the block that made it
};

}  // namespace kuafu::simt
