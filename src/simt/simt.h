// SPDX-License-Identifier: Apache-2.0
// The simulated GPU: device memory, a loaded device module, and kernel launches with findings.
//
// An interpreter that executes one instruction for a whole block at a time (see engine.h). Device
// addresses are host virtual addresses, so the host side of a candidate can copy with plain memcpy.
//
//   simt::Memory memory(1ull << 30);
//   KUAFU_TRY(auto program, simt::Program::Load(memory, std::move(module)));
//   simt::LaunchResult r = program->Launch("_Z3addPf", {n / 256, 1, 1}, {256, 1, 1}, 0, params,
//   options); for (const simt::Finding& f : r.findings) puts(simt::Describe(f).c_str());
//
// Nothing here is thread safe: one thread per Memory and its Programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "isa/isa.h"
#include "os/fd.h"

namespace kuafu::simt {

// One entry of the allocation table. Freed entries stay, so that use after free is told by name.
struct Allocation {
  uint64_t base = 0;
  size_t bytes = 0;
  std::string name;
  bool live = true;
  bool owned = false;           // has red zones; false = imported
  bool device_heap = false;     // by malloc in a kernel
  bool tracked = false;         // some bytes were never written: valid says which
  std::vector<uint64_t> valid;  // one bit per byte
  // One bit per byte that was left unknown by launches that were not executed whole (sample.h);
  // empty = none.
  std::vector<uint64_t> unknown;
  // What kernels did with any of its bytes since somebody set this to 0.
  static constexpr uint8_t kRead = 1, kWritten = 2;
  uint8_t touched = 0;
  bool lazy = false;  // storage is mapped memory of Memory::UsePattern
  void* storage = nullptr;
  size_t storage_bytes = 0;
  bool Valid(size_t offset, size_t count) const;
  void SetValid(size_t offset, size_t count, bool value);
  bool Known(size_t offset, size_t count) const;
  void SetKnown(size_t offset, size_t count, bool value);
};

class Memory {
 public:
  static constexpr size_t kRedZone = 256;
  static constexpr uint8_t kRedZoneByte = 0xfb;
  static constexpr uint8_t kPoisonByte = 0xff;  // every float format reads it as NaN
  // Allocations beyond limit_bytes in all fail with kExhausted.
  explicit Memory(size_t limit_bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Red zones on both sides. Uninitialised memory is filled with kPoisonByte and its validity
  // tracked; initialised memory is zero.
  Result<void*> Allocate(size_t bytes, size_t align, std::string name, bool initialized);
  // From now on what is allocated costs nothing until it is touched: initialised memory is zero,
  // other memory holds finite fp32 numbers from -1 to 1 that repeat, and none of it counts as
  // never written. For launches of which only the counters matter.
  Status UsePattern();
  // Zeros in place of the pattern, for data that are no numbers of that kind.
  Status Zero(uint32_t id);
  // Adds host memory the caller keeps alive; counted as initialised, no red zones.
  Status Import(void* pointer, size_t bytes, std::string name);
  // Keeps the table entry and, up to a bound, the memory (quarantine).
  Status Free(void* pointer);

  // Index in the table of the allocation whose bytes or red zones hold the address, 0 = none.
  uint32_t IdOf(uint64_t address) const;
  // nullptr if there is no such id.
  Allocation* Get(uint32_t id);
  const Allocation* Get(uint32_t id) const;
  void MarkInitialized(const void* pointer, size_t bytes);
  // Bytes of the range that were never written; those outside every live allocation count as well.
  size_t BytesNeverWritten(const void* pointer, size_t bytes) const;
  // Whether all bytes of the range are known; those outside every allocation are.
  bool Known(const void* pointer, size_t bytes) const;
  void SetKnown(const void* pointer, size_t bytes, bool value);
  // What a copy of these bytes leaves behind.
  void CopyKnown(const void* to, const void* from, size_t bytes);
  // False if host code wrote over the red zones of this allocation.
  bool RedZonesIntact(uint32_t id) const;
  size_t used_bytes() const { return used_; }
  size_t limit_bytes() const { return limit_; }
  uint64_t refused() const { return refused_; }  // allocations beyond the limit

 private:
  void Release(Allocation& allocation);
  Result<void*> AllocateLazy(size_t bytes, std::string name, bool initialized);
  os::UniqueFd pattern_;  // valid: memory is lazy
  size_t limit_, used_ = 0, quarantined_ = 0;
  uint64_t refused_ = 0;
  std::vector<std::unique_ptr<Allocation>> table_;  // entry 0 unused
  std::map<uint64_t, uint32_t> by_start_;           // start of red zone -> id
  std::vector<uint32_t> quarantine_;
};

struct Finding {
  enum class Kind : uint8_t {
    kOob,
    kUseAfterFree,
    kRace,
    kUninit,
    kMisaligned,
    kBarrier,
    kWarpSync,
    kDeadlock,
    kIndexOverflow,
    kLaunchInvalid,
    kTrap,
    kAssertFail,
    kTimeout,
    kHostPointer,
  };
  Kind kind = Kind::kTrap;
  std::string message;
  std::string kernel;            // demangled
  std::string file, other_file;  // of line and other_line; empty = unknown
  isa::Line line, other_line;    // other: the access or arrival it conflicts with
  uint32_t block[3] = {}, thread[3] = {};
  bool has_other = false;
  uint32_t other_block[3] = {}, other_thread[3] = {};
  uint64_t address = 0;
  std::string allocation;
};
std::string_view KindName(Finding::Kind kind);  // "oob", "use_after_free", ...
// One line for people: file:line: kind: message (block, thread).
std::string Describe(const Finding& finding);

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

class Counting;  // counters.h
// Of launches that may be too large to be executed whole: see sample.h.
struct Sampling {
  bool on = false;
  uint64_t seed = 0;  // of the choice of blocks
  // Lane instructions. A launch that costs no more, told from its first blocks, is executed whole.
  uint64_t lanes_whole = 0;
  // Beyond it a launch is given up, and all it may have written is unknown.
  uint64_t lanes_max = 0;
  // Nobody looks at results: what is left out of a launch is unknown to nobody, and kernels that
  // could tell what other blocks did are sampled, too, unless they wait for the whole grid.
  bool counts_only = false;
};

// What became of a launch with Sampling::on.
struct SampledLaunch {
  std::string kernel;  // demangled
  uint64_t blocks = 0, blocks_run = 0;
  uint64_t blocks_given_up = 0;  // of blocks_run: they read what is not known
  bool whole = true;             // nothing is missing
  std::string why_whole;         // its blocks cannot be judged one by one; empty = they can
  bool too_costly = false;       // so it was given up
  // Where blocks were left out: bytes that all blocks together would write, told from those that
  // were drawn at random, and the standard deviation of that; by allocation.
  struct Estimate {
    double bytes = 0, deviation = 0;
  };
  std::map<uint32_t, Estimate> estimates;
};

struct LaunchOptions {
  uint32_t warp_width = 32;  // 32, 64 or 128
  // 0: the whole block in lock-step. Otherwise warps, blocks and atomics in an order drawn from the
  // seed.
  uint64_t order_seed = 0;
  // Races, uninitialised reads, index overflow. Bounds, alignment and synchronisation are always
  // checked.
  bool sanitize = true;
  bool record_reads = false;  // fills LaunchResult::read; slower
  uint64_t max_dispatches =
      1ull << 32;  // instructions (for all lanes at once) of the launch; beyond: timeout
  uint64_t spin_dispatches = 4u << 20;  // polling for so long while nothing changes is a deadlock
  bool strict_exit =
      false;  // threads that returned before a barrier are a finding in any number (MUSA)
  uint32_t max_threads_per_block = 1024;
  uint32_t max_grid_y = 65535, max_grid_z = 65535;
  uint32_t shared_bytes_per_block = 48u << 10;  // static and dynamic together, without opt-in
  uint32_t shared_bytes_opt_in = 227u << 10;    // with it
  bool shared_opt_in = false;                   // the host called cudaFuncSetAttribute
  uint32_t resident_blocks = 132 * 8;           // live at once
  uint32_t sm_count = 132;
  bool cooperative = false;
  std::vector<uint64_t> block_filter;  // linear block ids to run; empty = all
  uint64_t heap_bytes = 8u << 20;      // device malloc
  Counting* counting = nullptr;        // borrowed; gets the counters of this launch
  Sampling sampling;
};

struct LaunchResult {
  bool ok = false;                // no findings
  std::vector<Finding> findings;  // one per kind and pair of lines, at most kMaxFindings
  uint64_t dispatches = 0, lane_instructions = 0;
  uint64_t global_load_bytes = 0, global_store_bytes = 0, shared_accesses = 0;
  uint64_t barriers = 0, divergent_branches = 0, atomics = 0, blocks = 0;
  bool shadow_limited =
      false;  // so much memory was touched that some global races were not looked for
  std::string printf_output;  // at most 1 MiB
  // With record_reads: the bytes that plain loads have read, by allocation.
  std::map<uint32_t, std::vector<bool>> read;
  SampledLaunch sampling;  // with LaunchOptions::sampling
};
inline constexpr size_t kMaxFindings = 64;

struct DModule;      // engine.h
class GlobalShadow;  // shadow.h

class Program {
 public:
  // Allocates and initialises the module's globals in memory, which must outlive the program.
  static Result<std::unique_ptr<Program>> Load(Memory& memory, isa::Module module);
  ~Program();

  const isa::Module& module() const;
  // Index of the kernel with this mangled (or else demangled) name, -1 = none.
  int KernelIndex(std::string_view name) const;
  // Address of a __device__ or __constant__ variable, nullptr = none.
  void* GlobalAddress(std::string_view name, size_t* bytes = nullptr) const;
  // params: the parameter block, laid out as Function::params say. Never fails otherwise than by
  // findings.
  LaunchResult Launch(uint32_t kernel, Dim3 grid, Dim3 block, size_t dynamic_shared,
                      std::span<const uint8_t> params, const LaunchOptions& options);
  LaunchResult Launch(std::string_view kernel, Dim3 grid, Dim3 block, size_t dynamic_shared,
                      std::span<const uint8_t> params, const LaunchOptions& options);

 private:
  Program();
  std::unique_ptr<DModule> decoded_;
  std::unique_ptr<GlobalShadow> shadow_;
  Memory* memory_ = nullptr;
  uint64_t launches_ = 0;
};

}  // namespace kuafu::simt
