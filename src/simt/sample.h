// SPDX-License-Identifier: Apache-2.0
// Launches that are too large to be executed whole. A subset of the blocks runs, and each byte of
// device memory is either known (it has the value that a whole execution would give it) or unknown.
//
// What makes that sound:
// - A block that reads an unknown byte is given up at once; whatever it wrote is unknown.
// - After a launch of which any block is missing, every byte that its blocks may write is unknown,
//   except what complete blocks wrote with plain stores: another block that wrote the same byte
//   would be a race.
// - Targets of atomic operations of such a launch are unknown.
// - Kernels whose blocks can tell what others did (results of atomics, volatile or atomic loads,
//   grid-wide barriers) run whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "simt/simt.h"

namespace kuafu::simt {

struct DModule;
struct LaunchState;

// A run of bytes that a block wrote.
struct WriteRange {
  uint32_t id = 0;  // of the allocation
  uint32_t bytes = 0;
  uint64_t offset = 0;
};

// What one block wrote in global memory, in its order; neighbours are joined.
class WriteLog {
 public:
  void Plain(uint32_t id, uint64_t offset, uint32_t bytes) { Add(plain_, id, offset, bytes); }
  void Atomic(uint32_t id, uint64_t offset, uint32_t bytes) { Add(atomic_, id, offset, bytes); }
  void Clear() {
    plain_.clear();
    atomic_.clear();
  }
  std::vector<WriteRange>& plain() { return plain_; }
  std::vector<WriteRange>& atomic() { return atomic_; }

 private:
  static void Add(std::vector<WriteRange>& list, uint32_t id, uint64_t offset, uint32_t bytes);
  std::vector<WriteRange> plain_, atomic_;
};

// Why the blocks of this kernel cannot be judged one by one; empty = they can.
std::string WhyWhole(const DModule& module, uint32_t kernel);

// Chooses the blocks of a launch and keeps the account of what they wrote.
class Sampler {
 public:
  // `state` must have its grid, parameters and memory, and must outlive this.
  Sampler(LaunchState& state, uint64_t blocks);

  // Whether another block is to be started, as far as that is known while some are running.
  bool More();
  uint64_t Take();
  // Its blocks look at what others did: it runs whole or not at all.
  bool waits() const { return !why_whole_.empty(); }
  // A block has ended, or was given up because it read what is not known.
  void Ended(uint64_t block, bool given_up, WriteLog& log);
  // The launch is to end: it has cost too much, or it makes no sense to go on.
  bool Stopped() const;
  // Brings the allocations up to date and fills in LaunchResult::sampling.
  void Finish();

 private:
  enum class Phase : uint8_t { kPilot, kSample, kWhole, kEnd };
  struct BlockLog {
    uint64_t block = 0;
    bool given_up = false;
    std::vector<WriteRange> plain, atomic;
  };
  bool TooCostly() const;
  void Choose();
  void Decide();
  bool IsDrawn(uint64_t block) const;
  // False: anything.
  bool MayWrite(std::vector<uint32_t>& ids) const;
  bool PointersFromMemory() const;
  void Estimate();

  LaunchState& state_;
  const uint64_t blocks_;
  std::string why_whole_;
  bool counts_only_ = false;
  Phase phase_ = Phase::kPilot;
  std::vector<uint64_t> chosen_;  // first, last, then runs of neighbours
  std::unordered_set<uint64_t> in_chosen_;
  uint64_t drawn_ = 0;  // so many of them were taken from there
  uint64_t next_ = 0, started_ = 0, ended_ = 0, complete_ = 0, given_up_ = 0;
  std::vector<BlockLog> logs_;
};

}  // namespace kuafu::simt
