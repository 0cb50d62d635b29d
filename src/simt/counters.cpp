// SPDX-License-Identifier: Apache-2.0
// Classes of instructions, sums, and what a Counting keeps between launches. See counters.h.
#include "simt/counters.h"

#include "simt/cache.h"

namespace kuafu::simt {

using isa::Op;

InstClass ClassOf(const isa::Inst& inst) {
  const auto arithmetic = [&] {
    switch (inst.type) {
      case isa::Type::kF64: return InstClass::kFp64;
      case isa::Type::kF16:
      case isa::Type::kBf16: return InstClass::kFp16;
      default: return InstClass::kFp32;
    }
  };
  switch (inst.op) {
    case Op::kSharedAddr:
    case Op::kGlobalAddr:
    case Op::kLocalAddr:
    case Op::kParamAddr:
    case Op::kFuncAddr:
    case Op::kProvOf: return InstClass::kNone;
    case Op::kFDiv:
    case Op::kFRem:
    case Op::kFSqrt:
    case Op::kMath:
    case Op::kUDiv:
    case Op::kSDiv:
    case Op::kURem:
    case Op::kSRem: return InstClass::kSpecial;
    case Op::kLoad:
    case Op::kStore:
    case Op::kMemCopy:
    case Op::kMemCopyDyn:
    case Op::kMemSet: return InstClass::kMemory;
    case Op::kAtomicRmw:
    case Op::kAtomicCas:
    case Op::kAtomicLoad:
    case Op::kAtomicStore: return InstClass::kAtomic;
    case Op::kBarrier:
    case Op::kGridSync: return InstClass::kBarrier;
    case Op::kSyncWarp:
    case Op::kShfl:
    case Op::kVote:
    case Op::kBallot:
    case Op::kActiveMask:
    case Op::kMatchAny:
    case Op::kMatchAll:
    case Op::kRedux: return InstClass::kWarp;
    case Op::kICmp:
    case Op::kFCmp:
    case Op::kSelect:
    case Op::kMov:
    case Op::kSpecial:
    case Op::kClock: return InstClass::kLogic;
    case Op::kLea: return InstClass::kInteger;
    default: break;
  }
  if (inst.op >= Op::kFAdd && inst.op < Op::kMath) return arithmetic();
  if (inst.op >= Op::kTrunc && inst.op <= Op::kBitcast) return InstClass::kConvert;
  if (inst.op < Op::kFAdd) return InstClass::kInteger;
  return InstClass::kControl;
}

std::string_view InstClassName(InstClass cls) {
  switch (cls) {
    case InstClass::kNone: return "none";
    case InstClass::kFp32: return "fp32";
    case InstClass::kFp16: return "fp16";
    case InstClass::kFp64: return "fp64";
    case InstClass::kSpecial: return "special";
    case InstClass::kInteger: return "integer";
    case InstClass::kConvert: return "convert";
    case InstClass::kLogic: return "logic";
    case InstClass::kControl: return "control";
    case InstClass::kMemory: return "memory";
    case InstClass::kAtomic: return "atomic";
    case InstClass::kBarrier: return "barrier";
    case InstClass::kWarp: return "warp";
  }
  return "none";
}

void MemoryCount::Add(const MemoryCount& other) {
  requests += other.requests;
  sectors += other.sectors;
  lines += other.lines;
  bytes += other.bytes;
  l1_hits += other.l1_hits;
  l2_hits += other.l2_hits;
  dram += other.dram;
}

void Count::Add(const Count& other) {
  warps += other.warps;
  lanes += other.lanes;
  branches += other.branches;
  diverged += other.diverged;
  load.Add(other.load);
  store.Add(other.store);
  atomic.Add(other.atomic);
  atomic_serial += other.atomic_serial;
  shared_requests += other.shared_requests;
  shared_passes += other.shared_passes;
  shared_passes_ideal += other.shared_passes_ideal;
  shared_bytes += other.shared_bytes;
  local_requests += other.local_requests;
  constant_requests += other.constant_requests;
  barriers += other.barriers;
  barrier_wait += other.barrier_wait;
  stall += other.stall;
  stall_long += other.stall_long;
}

Counting::Counting(const CountingOptions& options) : options_(options) {}
Counting::~Counting() = default;

void Counting::SetL1(uint64_t bytes_per_block) {
  if (bytes_per_block == l1_bytes_) return;
  l1_bytes_ = bytes_per_block;
  l1_.reset();
}

void Counting::Reset() {
  launches_.clear();
  dropped_ = 0;
  if (l2_ != nullptr) l2_->Clear();
  device_base_.clear();
  device_next_ = 0;
}

}  // namespace kuafu::simt
