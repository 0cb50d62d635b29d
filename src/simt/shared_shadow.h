// SPDX-License-Identifier: Apache-2.0
// The shadow of a block's shared memory: two 32-bit cells per granule, `event | flags | lane` of
// the last write and the last read. An event is one (tick, source line); the few of the current
// phase, the time since the last barrier, are in a log. So an update is one compare and one store
// that run eight lanes at a time, and everything from before a barrier is an event below `phase_`.
// "Never written in this block" is an event below `block_`: uninitialised reads come for free.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "simt/pattern.h"
#include "simt/shadow.h"

namespace kuafu::simt {

class SharedShadow {
 public:
  // Granules of 1 << granule_log2 bytes; every access must consist of whole ones.
  void Resize(size_t bytes, int granule_log2);
  // Everything in the memory is uninitialised from here on.
  void StartBlock(const BlockSync& sync);
  // First thing of an access: what its cells will hold beside the lane.
  void Begin(const BlockSync& sync, uint32_t line);
  int granule_log2() const { return granule_log2_; }

  // Whole chunks of the pattern's accesses, lanes lo + i, i from `from`, which starts a chunk.
  // Returns the first lane not recorded: n, the rest of n, or a chunk whose lanes need One.
  template <bool kWrite>
  int Chunks(const Pattern& p, int from, int n, uint64_t base, uint32_t bytes, int lo, bool copy);
  // Eight lanes, lane first_lane + i at byte `at + i * bytes`, or all at byte `at`. True: recorded,
  // nothing is wrong. False: nothing was changed; each lane needs One, or Touch and Written.
  bool ReadRun8(size_t at, uint32_t bytes, int first_lane, bool copy);
  bool WriteRun8(size_t at, uint32_t bytes, int first_lane);
  bool ReadSame8(size_t at, uint32_t bytes, int first_lane, bool copy);
  bool ReadOne(size_t at, uint32_t bytes, int lane, bool copy);
  bool WriteOne(size_t at, uint32_t bytes, int lane);

  // Any access of one lane; records it and gives the first conflict.
  Conflict Touch(size_t at, uint32_t bytes, const BlockSync& sync, int lane, bool write,
                 bool atomic);
  bool Written(size_t at, size_t bytes) const;
  void Forget(size_t at, size_t bytes);  // as if never written

 private:
  static constexpr int kEventShift = 13, kFlagShift = 10;
  static constexpr int32_t kLane = 0x3ff, kWho = 0x1fff;
  static constexpr int32_t kSeveral = kCellSeveral << kFlagShift;
  static constexpr int32_t kSeveralWarps = kCellSeveralWarps << kFlagShift;
  static constexpr int32_t kLastEvent = (1 << 18) - 1;
  void NewPhase(const BlockSync& sync);
  void StartOver();
  Cell Decode(int32_t cell, uint32_t block) const;

  struct Event {
    uint32_t tick = 0, line = 0;
  };
  int granule_log2_ = 2;
  std::vector<int32_t> write_, read_;
  std::vector<Event> log_;               // of the phase, from event first_
  std::array<int32_t, 64> recent_ = {};  // by line, modulo: event to look at first
  int32_t first_ = 1, next_ = 1;         // events of the phase
  int32_t phase_ = 0, block_ = 0;        // as cells: events below are older
  int32_t key_ = 0;                      // of the access
  uint32_t phase_tick_ = 0;
  bool unordered_ = true;  // nothing but the barrier has ordered anything in this phase
  int width_log2_ = 5;
};

}  // namespace kuafu::simt
