// SPDX-License-Identifier: Apache-2.0
// How a launch is counted (counters.h says what). The interpreter has a variant of its loop that
// calls BlockRun::CountDispatch before each instruction. A memory instruction's addresses are
// compared with those it had before, relative to the first lane: most repeat one pattern for ever,
// so that sectors and bank passes are worked out once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "simt/cache.h"
#include "simt/counters.h"
#include "simt/simt.h"

namespace kuafu::simt {

struct Frame;
struct Split;

// The sectors of one 128-byte line that one request touches.
struct LineTouch {
  int64_t line = 0;  // relative to the line of the first lane
  uint32_t sectors = 0;
};

// What the requests of one dispatch come to.
struct RequestCost {
  uint32_t requests = 0, lanes = 0, sectors = 0, bytes = 0;
  uint32_t passes = 0, passes_ideal = 0;  // shared memory
  uint32_t serial = 0;                    // atomics
  std::vector<LineTouch> touches;         // global memory; request by request
  void Clear();
};

// Where the active lanes of a dispatch go.
struct LaneAddresses {
  const uint64_t* offset = nullptr;  // of each lane in its object; those of others mean nothing
  const uint8_t* mask = nullptr;     // nullptr: all
  int lo = 0, n = 0;                 // of the first entry; entries
  uint32_t bytes = 0;                // of each lane's access
  int width = 32;
};

enum class CostKind : uint8_t { kGlobal, kShared, kAtomic };

// Works out requests, from scratch.
void FindCost(const LaneAddresses& lanes, CostKind kind, RequestCost* cost);

// The patterns that one instruction had.
class CostMemo {
 public:
  // Lanes are dense and their offsets base + index * scale.
  const RequestCost& OfIndex(const int32_t* index, uint64_t first, uint64_t scale,
                             const LaneAddresses& lanes, CostKind kind, uint64_t* scratch);
  const RequestCost& OfOffsets(const LaneAddresses& lanes, int first_lane, CostKind kind);

 private:
  static constexpr size_t kEntriesMax = 4;
  static constexpr uint32_t kMissesMax = 64;  // in a row: addresses without a pattern
  struct Entry {
    int lo = 0, n = 0;
    uint32_t phase = 0, bytes = 0;
    CostKind kind = CostKind::kGlobal;
    bool by_index = false, dense = false;
    std::vector<int32_t> index;
    std::vector<uint64_t> offset;
    std::vector<uint8_t> mask;
    RequestCost cost;
  };
  Entry& Fresh();
  std::vector<std::unique_ptr<Entry>> entries_;
  size_t next_ = 0;
  uint32_t misses_ = 0;
};

// One launch. The per-instruction counts become per-line counts at the end.
class LaunchCounter {
 public:
  // reachable: the functions that may run.
  LaunchCounter(Counting& counting, const isa::Module& module, uint32_t kernel,
                std::span<const uint32_t> reachable);
  ~LaunchCounter();
  Count& At(uint32_t function, uint32_t pc) { return counts_[function][pc]; }
  CostMemo& Memo(uint32_t function, uint32_t pc);
  const Latencies& latencies() const { return counting_.options_.latencies; }
  // Clocks until the last of the sectors is there.
  uint32_t Load(const RequestCost& cost, uint64_t first_line, MemoryCount* count);
  void Store(const RequestCost& cost, uint64_t first_line, MemoryCount* count);
  // Sectors of the atomics' requests, always at the L2.
  void Atomic(const RequestCost& cost, uint64_t first_line, MemoryCount* count);
  void Contend(uint64_t device_address, uint32_t lanes);
  // The model's own address of an allocation.
  uint64_t DeviceBase(uint32_t allocation, uint64_t bytes);
  void StartBlock();
  void EndBlock(uint64_t path);
  void Stretch(uint64_t clocks);
  LaunchCount& info() { return info_; }
  void Finish();

 private:
  static constexpr size_t kHotAddressesMax = 1u << 16;
  Counting& counting_;
  const isa::Module& module_;
  LaunchCount info_;
  std::vector<std::vector<Count>> counts_;                     // by function and instruction
  std::vector<std::vector<std::unique_ptr<CostMemo>>> memos_;  // likewise
  std::unordered_map<uint64_t, uint64_t> hot_;                 // atomic operations by address
  std::vector<uint8_t> touched_;                               // by allocation
};

// One block. Clocks are of an in-order machine that issues an instruction a clock and waits for
// operands; a register's time is that of the first warp of the split that wrote it.
class BlockCounter {
 public:
  BlockCounter(LaunchCounter& launch, int width, int warps);
  void Start();
  LaunchCounter& launch() { return launch_; }
  // Which warps the split has; cheap if it is the one of the last dispatch.
  void Bind(const Split& s);
  void Unbind() { split_ = nullptr; }
  uint32_t warps() const { return static_cast<uint32_t>(present_count_); }
  // The bound split issues when `ready` allows it; returns the clock and the wait before it.
  uint64_t Issue(uint64_t ready, uint64_t* stall);
  // The splits that waited for each other go on; all have arrived.
  void Barrier(const std::vector<Split*>& waiting, Count* count);
  void End();

 private:
  static constexpr uint64_t kStallMax = 2000;  // a longer one is an artefact of warps apart
  void Find(const Split& s);
  LaunchCounter& launch_;
  const int width_, warps_;
  const Split* split_ = nullptr;
  int split_count_ = -1;
  int first_ = 0, present_count_ = 0;
  std::vector<uint8_t> present_;
  uint64_t common_ = 0;           // what all warps have in common
  std::vector<uint64_t> clocks_;  // of each warp, beyond
  uint64_t last_barrier_ = 0;
};

}  // namespace kuafu::simt
