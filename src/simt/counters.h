// SPDX-License-Identifier: Apache-2.0
// What a launch costs, counted: instructions by class, active lanes, divergence, sectors and lines
// of global requests, bank passes of shared memory, contention of atomics, barriers, and the
// longest chain of dependent instructions. Off unless LaunchOptions::counting names a Counting.
//
//   simt::Counting counting({});
//   options.counting = &counting;
//   program->Launch(...);
//   counting.launches().back().total.load.sectors
//
// What is counted is the device module as the sanitizer runs it, before any optimisation that a
// vendor's compiler would make. Which cache serves a sector, and clocks, are modelled; everything
// else is exact.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "isa/isa.h"

namespace kuafu::simt {

enum class InstClass : uint8_t {
  kNone,  // exists only in the simulator: provenance, addresses of variables
  kFp32,
  kFp16,  // and bf16
  kFp64,
  kSpecial,  // division, roots, transcendental functions
  kInteger,
  kConvert,
  kLogic,  // compare, select, move, read of a built-in value
  kControl,
  kMemory,
  kAtomic,
  kBarrier,
  kWarp,  // shuffles, votes
};
inline constexpr int kInstClassCount = 13;
InstClass ClassOf(const isa::Inst& inst);
std::string_view InstClassName(InstClass cls);  // "fp32", ...

// Requests of one kind; one request = one warp instruction.
struct MemoryCount {
  uint64_t requests = 0;
  uint64_t sectors = 0;  // distinct 32-byte sectors, summed over requests
  uint64_t lines = 0;    // distinct 128-byte lines: transactions
  uint64_t bytes = 0;    // that lanes asked for
  uint64_t l1_hits = 0;  // sectors served by L1, modelled
  uint64_t l2_hits = 0;  // sectors served by L2, modelled
  uint64_t dram = 0;     // sectors that come from, or will have to go to, DRAM; modelled
  void Add(const MemoryCount& other);
};

// Of one instruction, one line, or one launch.
struct Count {
  uint64_t warps = 0;                   // warp instructions
  uint64_t lanes = 0;                   // thread instructions
  uint64_t branches = 0, diverged = 0;  // warps at a conditional branch, and those that split there
  MemoryCount load, store;              // global memory
  MemoryCount atomic;                   // global memory
  uint64_t atomic_serial = 0;  // lanes that met at one address, at most, summed over requests
  uint64_t shared_requests = 0, shared_passes = 0;
  uint64_t shared_passes_ideal = 0;  // without bank conflicts
  uint64_t shared_bytes = 0;
  uint64_t local_requests = 0, constant_requests = 0;
  uint64_t barriers = 0;      // times a block got past it
  uint64_t barrier_wait = 0;  // clocks that warps waited there for the last one, modelled
  uint64_t stall = 0;         // clocks waited for operands, along each block's chain, modelled
  uint64_t stall_long = 0;    // of them, in waits of kLongStall or more: for memory, mostly
  void Add(const Count& other);
};

struct LineCount {
  std::string file;
  isa::Line line;  // column 0: of the whole line
  Count count;
};

struct LaunchCount {
  std::string kernel;  // demangled
  uint32_t function = 0;
  uint32_t grid[3] = {}, block[3] = {};
  uint32_t warp_width = 32;
  uint32_t warps_per_block = 0;
  uint64_t static_shared_bytes = 0, dynamic_shared_bytes = 0;
  uint64_t launches = 1;
  uint64_t blocks = 0;     // executed; less than the grid where blocks were left out
  uint32_t registers = 0;  // per thread, as the caller estimated them
  Count total;
  std::array<uint64_t, kInstClassCount> warps_by_class{};
  std::vector<LineCount> lines;  // in the order of file and line
  // Of the longest chain from a block's start to its end: sum over blocks, and the longest.
  uint64_t critical_path_sum = 0, critical_path_max = 0;
  // Between barriers, the longest stretch of any block.
  uint64_t stretch_max = 0;
  // Of the allocations in global memory that it accessed; the most of one launch.
  uint64_t memory_bytes = 0;
  // Most atomic operations on one global address; contended_limited: there were too many addresses
  // to follow them all.
  uint64_t atomic_hottest = 0;
  bool contended_limited = false;
};

// Clocks from issue to use.
struct Latencies {
  uint32_t alu = 4, special = 20, shared = 29, l1 = 33, l2 = 260, dram = 600, warp = 25;
  uint32_t barrier = 20;
};

struct CountingOptions {
  uint64_t l2_bytes = 50ull << 20;  // 0 = none: everything comes from DRAM
  uint32_t l2_ways = 16;
  uint32_t l1_ways = 4;
  Latencies latencies;
};

// Clocks; what a dependence on arithmetic never takes.
inline constexpr uint64_t kLongStall = 12;

class SectorCache;  // cache.h

// Holds what outlives a launch: the L2, and what was counted. Not thread safe.
class Counting {
 public:
  explicit Counting(const CountingOptions& options);
  ~Counting();
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

  // Bytes of L1 that each block of the next launches has to itself; empty when the block starts.
  void SetL1(uint64_t bytes_per_block);
  // Of the kernel of the next launches; only recorded.
  void SetRegisters(uint32_t per_thread) { registers_ = per_thread; }
  // Forgets launches and empties the L2.
  void Reset();
  const std::vector<LaunchCount>& launches() const { return launches_; }
  static constexpr size_t kLaunchesMax = 4096;  // of later ones only the number is kept
  uint64_t launches_dropped() const { return dropped_; }

 private:
  friend class LaunchCounter;
  CountingOptions options_;
  uint64_t l1_bytes_ = 16u << 10;
  uint32_t registers_ = 0;
  std::unique_ptr<SectorCache> l1_, l2_;
  std::vector<LaunchCount> launches_;
  uint64_t dropped_ = 0;
  // Where each allocation starts in an address space of the model's own, so that nothing depends on
  // host addresses; by id, 0 = not seen yet.
  std::vector<uint64_t> device_base_;
  uint64_t device_next_ = 0;
};

}  // namespace kuafu::simt
