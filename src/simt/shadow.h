// SPDX-License-Identifier: Apache-2.0
// Race detection: for every 4-byte word the last write and the last read. Cells hold the block's
// tick, which grows at every synchronisation, so nothing is ever cleared: a barrier makes all older
// cells of the block harmless at once.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace kuafu::simt {

struct Cell {
  uint32_t tick = 0;  // 0 = empty
  uint32_t line = 0;
  uint32_t block = 0;
  uint16_t lane = 0;
  uint8_t bytes = 0;  // which of the four
  uint8_t flags = 0;
};
inline constexpr uint8_t kCellAtomic = 1;
inline constexpr uint8_t kCellSeveral = 2;       // more lanes than the one named
inline constexpr uint8_t kCellSeveralWarps = 4;  // and of more than one warp
static_assert(sizeof(Cell) == 16);

struct Word {
  Cell write, read;
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
  std::unordered_map<uint32_t, uint32_t>
      acquired;  // other block -> tick up to which it is visible here

  void Reset(uint32_t new_block, int lanes, int new_width);
  void Barrier() { barrier_tick = ++tick; }
};

struct Conflict {
  bool found = false;
  bool other_wrote = false;
  Cell other;
};

// Updates the word; reports the first conflicting earlier access. grid_tick: see GlobalShadow.
Conflict Touch(Word& word, const BlockSync& sync, int lane, uint8_t bytes, bool write, bool atomic,
               uint32_t line, uint32_t grid_tick);

// Whether everything in the cell happened before what this lane does now. A cell of several lanes
// stands for all of them, so it is ordered only if each of them would be.
inline bool Ordered(const Cell& cell, const BlockSync& sync, int lane, uint32_t grid_tick) {
  if (cell.tick < grid_tick) return true;
  if (cell.block != sync.block) {
    auto it = sync.acquired.find(cell.block);
    return it != sync.acquired.end() && cell.tick < it->second;
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

// The common case of a plain access to a whole shared word that meets nothing: true if it is that
// and the word is updated, false if Touch has to look. In shared memory a cell of this phase is
// this block's.
inline bool TouchFast(Word& word, const BlockSync& sync, int lane, bool write, uint32_t line) {
  auto mine = [&](const Cell& c) {
    return c.tick < sync.barrier_tick ||
           (c.lane == lane && (c.flags & (kCellSeveral | kCellAtomic)) == 0);
  };
  if (!mine(word.write)) return false;
  Cell& cell = write ? word.write : word.read;
  if (!write && cell.tick == sync.tick && cell.line == line && cell.bytes == 15 &&
      ((cell.flags & kCellSeveralWarps) != 0 ||
       ((cell.flags & kCellSeveral) != 0 &&
        cell.lane >> sync.width_log2 == lane >> sync.width_log2))) {
    return true;  // nothing new: most of a broadcast
  }
  uint8_t flags = 0;
  if (write) {
    if (!mine(word.read)) return false;
  } else if (cell.tick >= sync.barrier_tick && (cell.lane != lane || cell.flags != 0) &&
             !Ordered(cell, sync, lane, sync.barrier_tick)) {
    if ((cell.flags & kCellAtomic) != 0 || cell.bytes != 15) return false;
    flags = cell.flags | kCellSeveral;
    if (cell.lane >> sync.width_log2 != lane >> sync.width_log2) flags |= kCellSeveralWarps;
  }
  cell = {sync.tick, line, sync.block, static_cast<uint16_t>(lane), 15, flags};
  return true;
}

class SharedShadow {
 public:
  void Resize(size_t bytes) { words_.resize((bytes + 3) / 4); }
  Word& At(size_t offset) { return words_[offset / 4]; }

 private:
  std::vector<Word> words_;
};

class GlobalShadow {
 public:
  static constexpr size_t kPageWords = 1024;
  static constexpr size_t kMaxPages = 16384;  // 512 MiB of shadow for 64 MiB of data
  // nullptr beyond the bound.
  Word* At(uint64_t address);
  bool limited() const { return limited_; }

  // Release and acquire on the object at this address. Without `device` only the same block sees
  // it.
  void Release(uint64_t address, BlockSync& sync, bool device);
  void Acquire(uint64_t address, BlockSync& sync, int lane);
  uint32_t grid_tick = 0;  // accesses before are ordered by a grid-wide barrier
  // Allocations only read in this launch need no record. Indexed by allocation id.
  std::vector<uint8_t> read_only;

 private:
  struct Page {
    Word words[kPageWords];
  };
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  uint64_t last_page_ = ~0ull;
  Page* last_ = nullptr;
  bool limited_ = false;
  std::unordered_map<uint64_t, std::unordered_map<uint32_t, uint32_t>> objects_;
  struct Local {
    uint32_t block = 0, tick = 0;
  };
  std::unordered_map<uint64_t, Local> local_;  // the last release, for the block that made it
};

}  // namespace kuafu::simt
