// SPDX-License-Identifier: Apache-2.0
// Findings and counters as JSON, and loading of host code: the common part of the runner's modes.
#include <string>

#include "cli/runner.h"
#include "verdict/verdict.h"

namespace kuafu::runner {
namespace {

verdict::Class ClassOf(const hostabi::Finding& finding) {
  using Kind = simt::Finding::Kind;
  switch (finding.host) {
    case hostabi::HostDefect::kOverrun: return verdict::Class::kOob;
    case hostabi::HostDefect::kStreamOrder: return verdict::Class::kStreamOrder;
    case hostabi::HostDefect::kNone: break;
  }
  switch (finding.kind) {
    case Kind::kOob:
    case Kind::kUseAfterFree:
    case Kind::kHostPointer: return verdict::Class::kOob;
    case Kind::kRace: return verdict::Class::kRace;
    case Kind::kUninit: return verdict::Class::kUninit;
    case Kind::kMisaligned: return verdict::Class::kMisaligned;
    case Kind::kBarrier: return verdict::Class::kBarrier;
    case Kind::kWarpSync: return verdict::Class::kWarpSync;
    case Kind::kDeadlock: return verdict::Class::kDeadlock;
    case Kind::kIndexOverflow: return verdict::Class::kIndexOverflow;
    case Kind::kLaunchInvalid: return verdict::Class::kLaunchInvalid;
    case Kind::kTimeout: return verdict::Class::kTimeout;
    case Kind::kTrap:
    case Kind::kAssertFail: return verdict::Class::kRuntimeError;
  }
  return verdict::Class::kRuntimeError;
}

std::string Triple(const uint32_t (&v)[3]) {
  return "(" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) + ")";
}

}  // namespace

Json FindingJson(const hostabi::Finding& f) {
  // A finding about a launch or about host code happened in no thread.
  const bool in_thread = f.host == hostabi::HostDefect::kNone &&
                         f.kind != simt::Finding::Kind::kLaunchInvalid && !f.kernel.empty();
  return {{"class", verdict::ClassName(ClassOf(f))},
          {"kind", hostabi::KindName(f)},
          {"message", f.message},
          {"kernel", f.kernel},
          {"line", f.line.line},
          {"column", f.line.column},
          {"other_line", f.other_line.line},
          {"block", in_thread ? Triple(f.block) : ""},
          {"thread", in_thread ? Triple(f.thread) : ""},
          {"other_block", f.has_other ? Triple(f.other_block) : ""},
          {"other_thread", f.has_other ? Triple(f.other_thread) : ""},
          {"allocation", f.allocation},
          {"text", hostabi::Describe(f)}};
}

Json CountersJson(const hostabi::Counters& c) {
  return {{"launches", c.launches},
          {"dispatches", c.dispatches},
          {"lane_instructions", c.lane_instructions},
          {"global_load_bytes", c.global_load_bytes},
          {"global_store_bytes", c.global_store_bytes}};
}

Result<void*> LoadHostCode(hostabi::Session& session, const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr)
    return Error{Code::kInvalidInput, std::string("loading the host code: ") + dlerror()};
  session.RegisterKernels(
      Table<hostabi::KernelEntry>(library, "kuafu_kernels", "kuafu_kernel_count"));
  session.RegisterSymbols(
      Table<hostabi::SymbolEntry>(library, "kuafu_symbols", "kuafu_symbol_count"));
  return library;
}

}  // namespace kuafu::runner
