// SPDX-License-Identifier: Apache-2.0
// The device side that a candidate's host code sees while it runs: one simulated GPU, the loaded
// module, and what happened. The C functions of cuda_api.cpp and tensor_api.cpp work on the current
// session.
//
//   hostabi::Session session(options);
//   KUAFU_TRY_STATUS(session.LoadModule(bytes));
//   session.RegisterKernels(table);        // stub address -> kernel, from the candidate's shared
//   object hostabi::SetCurrent(&session);         // candidate code may run now
//
// One session per process at a time and one thread: candidates run isolated, each in a process of
// its own. Work in streams is executed in the order of the calls, which is one of the orders that
// CUDA allows; streams.h looks for results that depend on it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/profile.h"
#include "simt/counters.h"
#include "simt/simt.h"

namespace kuafu::hostabi {

struct SessionOptions {
  const device::Profile* profile = nullptr;  // static storage
  uint32_t warp_width = 32;
  uint64_t order_seed = 0;
  bool sanitize = true;
  size_t memory_bytes = size_t{2} << 30;
  uint64_t max_dispatches = 200'000'000;
  bool echo_printf = false;  // device printf goes to standard output at once
  bool count = false;        // launches are counted, for a profile
  // Only counters are wanted, and no result is looked at: memory holds a pattern, of large launches
  // a few blocks run, and one like an earlier launch does not run again. Implies `count`.
  bool counts_only = false;
};

// What the device was asked to do in a session with counts_only, in its order.
struct Work {
  enum class Kind : uint8_t { kLaunch, kCopy, kFill };
  Kind kind = Kind::kLaunch;
  size_t launch = 0;   // index in counting()->launches() of this or of an equal launch
  uint64_t bytes = 0;  // of copies and fills
};

struct Counters {
  uint64_t launches = 0, dispatches = 0, lane_instructions = 0;
  uint64_t global_load_bytes = 0, global_store_bytes = 0;
  bool used_atomics = false;
};

// One row of the table `kuafu_kernels` or `kuafu_symbols` in the candidate's shared object.
struct KernelEntry {
  const void* stub;
  const char* name;
};
struct SymbolEntry {
  const void* shadow;
  const char* name;
  uint64_t bytes;
};

// Defects of host code, which the simulator has no kinds for.
enum class HostDefect : uint8_t { kNone, kOverrun, kStreamOrder };
struct Finding : simt::Finding {
  HostDefect host = HostDefect::kNone;  // if set, `kind` means nothing
};
std::string_view KindName(const Finding& finding);  // "oob", "host_overrun", "stream_order", ...
std::string Describe(const Finding& finding);       // one line for people

// A call at sizes at which it may cost too much to execute every block: simt/sample.h says what is
// done instead.
struct CallSampling {
  bool on = false;
  uint64_t seed = 0;
  uint64_t launch_lanes = 0;  // lane instructions: a launch that costs no more is executed whole
  uint64_t call_lanes = 0;    // beyond it nothing more of the call is executed
};

// Told where the content of allocations (by id) comes from.
class DataFlow {
 public:
  virtual ~DataFlow() = default;
  // A kernel has ended that read and wrote these.
  virtual void Launched(const std::vector<uint32_t>& read,
                        const std::vector<uint32_t>& written) = 0;
  // The host copied into `to`; from = 0: out of host memory.
  virtual void Copied(uint32_t to, uint32_t from) = 0;
  virtual void Filled(uint32_t to) = 0;  // with a constant
};

class Streams;       // streams.h
struct Operation;    // streams.h
struct TensorState;  // tensor_state.h

class Session {
 public:
  explicit Session(const SessionOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // The number of the module, from 0: a program may consist of several translation units.
  Result<size_t> LoadModule(std::span<const uint8_t> bytes);
  // The rows are copied; names must name kernels and variables of that module.
  void RegisterKernels(std::span<const KernelEntry> kernels, size_t module);
  void RegisterSymbols(std::span<const SymbolEntry> symbols, size_t module);

  // CUDA error code: 0, or cudaErrorInvalidConfiguration, cudaErrorInvalidDeviceFunction, ...
  int Launch(const void* stub, simt::Dim3 grid, simt::Dim3 block, void** args, size_t shared_bytes,
             bool cooperative, void* stream);
  int SetSharedOptIn(const void* stub, int64_t bytes);
  // nullptr if the shadow is no device variable.
  void* SymbolAddress(const void* shadow, size_t* bytes) const;

  // Starts another call of the candidate: forgets findings, counters and printf output. Memory,
  // device variables and the candidate's own state stay, as between two calls in one process.
  void Begin(uint64_t order_seed, const CallSampling& sampling = {});
  // The entry function has returned these allocations (by id): reports work that may still be
  // using them, then waits for everything.
  void Finish(const std::vector<uint32_t>& returned);
  // Reports red zones that host code wrote over, and mends them so that each is reported once.
  void CheckRedZones();
  // As cudaFree, with a last look at the red zones. False if no allocation starts there.
  bool FreeDevice(void* pointer);

  // nullptr if the stub is no kernel.
  const isa::Function* FindKernel(const void* stub) const;
  // Bytes of static shared memory of the kernel behind a stub, 0 if there is none.
  size_t StaticSharedBytes(const void* stub) const;

  simt::Memory& memory() { return memory_; }
  const simt::Memory& memory() const { return memory_; }
  TensorState& tensors() { return *tensors_; }
  Streams& streams() { return *streams_; }
  const SessionOptions& options() const { return options_; }
  // nullptr unless launches are counted; of the calls since Begin.
  const simt::Counting* counting() const { return counting_.get(); }
  const std::vector<Finding>& findings() const { return findings_; }
  // For data_flow and sampling; addresses may lie outside every allocation. With `bytes` exactly
  // those are meant, without them any of the two allocations.
  void NoteCopied(const void* to, const void* from, size_t bytes = 0);
  void NoteFilled(const void* to, size_t bytes = 0);
  // The host looks at device memory. If sampling has left any of it unknown, nothing that follows
  // says anything about the candidate.
  void NoteHostRead(const void* from, size_t bytes);
  // Once per defect: the same kind at the same place again is dropped.
  void AddFinding(simt::Finding finding, HostDefect host = HostDefect::kNone);
  // Whether the module adds, or takes extremes of, floating-point numbers atomically, or may do so
  // by compare-and-swap: the result then depends on the order of the threads.
  bool has_float_atomics() const;
  const CallSampling& sampling() const { return sampling_; }
  // Of a sampled call, one row for each kernel.
  const std::vector<simt::SampledLaunch>& sampled() const { return sampled_; }
  // Why a sampled call can no longer be followed, empty = it can. From then on nothing is executed
  // and no finding is kept.
  std::string blind() const;
  // How much of an allocation's bytes the sampled blocks stand for, 0 to 1: were all blocks like
  // those drawn at random, so much would be written by them. A deviation of three sigma is granted.
  double Coverage(uint32_t id) const;
  // True once a kernel failed so that going on makes no sense (timeout, deadlock).
  bool stopped() const { return stop_error_ != 0; }
  // The error that every later call gives, 0 while the device works.
  int stop_error() const { return stop_error_; }
  const std::vector<Work>& work() const { return work_; }
  // With counts_only large amounts of data are not moved: nobody looks at them.
  bool SkipsData(uint64_t bytes) const { return options_.counts_only && bytes > (1u << 20); }
  Counters counters;
  std::string printf_output;  // bounded
  int last_error = 0;
  std::string library_call;  // the first operator of a library that host code called; empty = none
  // Called after each launch and each copy or fill by a runtime function, when set.
  DataFlow* data_flow = nullptr;  // borrowed

 private:
  struct Kernel {
    simt::Program* program = nullptr;
    int index = -1;
    int64_t shared_opt_in_bytes = 0;
    uint32_t registers = 0;  // estimated when first counted

    bool known() const { return index >= 0; }
    const isa::Function& function() const;
  };
  struct Symbol {
    const simt::Program* program = nullptr;
    std::string name;
  };
  SessionOptions options_;
  simt::Memory memory_;
  std::vector<std::unique_ptr<simt::Program>> programs_;  // one for each module
  std::map<const void*, Kernel> kernels_;
  std::map<const void*, Symbol> symbols_;
  std::unique_ptr<simt::Counting> counting_;
  std::vector<Work> work_;
  std::map<std::string, size_t> counted_;         // configuration and numbers -> launch
  std::map<std::string, size_t> counted_shapes_;  // configuration -> times that it ran
  std::vector<Finding> findings_;
  int stop_error_ = 0;
  CallSampling sampling_;
  std::vector<simt::SampledLaunch> sampled_;
  std::map<uint32_t, simt::SampledLaunch::Estimate> estimates_;  // of the last launch that has one
  std::string blind_;
  uint64_t refused_before_ = 0;
  std::unique_ptr<Streams> streams_;
  std::unique_ptr<TensorState> tensors_;  // last: its tensors are freed into memory_

  struct Call {  // a launch that has been checked
    const Kernel* kernel = nullptr;
    simt::Dim3 grid, block;
    size_t shared_bytes = 0;
    std::vector<uint8_t> params;
    simt::LaunchOptions options;
  };
  void CheckRedZone(uint32_t id);
  int LaunchForCounts(const Call& call);
  void AddWork(Work work);
  void PrepareCounting(Kernel& kernel, simt::LaunchOptions& launch, simt::Dim3 block,
                       size_t shared_bytes);
  simt::LaunchOptions OptionsFor(const Kernel& kernel, simt::Dim3 block, size_t shared_bytes) const;
  simt::LaunchResult RunOrdered(const Call& call, Operation now);
  int Account(simt::LaunchResult result);
  simt::Sampling SamplingOfLaunch() const;
  void AccountSampled(simt::SampledLaunch launch);
  void ReportTouched();
};

void SetCurrent(Session* session);
// Aborts the process if there is none: host code ran before main, which a candidate has no business
// doing.
Session& Current();

// CUDA's numeric error codes, as far as they are returned here.
inline constexpr int kSuccess = 0, kInvalidValue = 1, kMemoryAllocation = 2,
                     kInvalidConfiguration = 9, kInvalidPitchValue = 12, kInvalidSymbol = 13,
                     kInvalidMemcpyDirection = 21, kInvalidDevice = 101,
                     kInvalidDeviceFunction = 98, kInvalidResourceHandle = 400, kNotReady = 600,
                     kAssert = 710, kLaunchFailure = 719, kCooperativeLaunchTooLarge = 720,
                     kNotSupported = 801;

}  // namespace kuafu::hostabi
