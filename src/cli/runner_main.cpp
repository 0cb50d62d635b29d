// SPDX-License-Identifier: Apache-2.0
// kuafu-runner: runs one compiled program on a simulated GPU inside the sandbox, and reports what
// the simulated device saw as JSON on descriptor 3.
//
//   kuafu-runner MODULE SHARED_OBJECT TARGET WARP_WIDTH SEED SANITIZE [ARG ...]
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "device/profile.h"
#include "hostabi/session.h"
#include "os/file.h"
#include "os/sandbox.h"
#include "verdict/verdict.h"

namespace {

using namespace kuafu;
constexpr int kResultFd = 3;

hostabi::Session* g_session = nullptr;

verdict::Class ClassOf(simt::Finding::Kind kind) {
  using Kind = simt::Finding::Kind;
  switch (kind) {
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

// Runs at exit as well, because a program may end by exit() instead of returning from main.
void Report() {
  Json answer;
  answer["findings"] = Json::array();
  for (const simt::Finding& f : g_session->findings()) {
    answer["findings"].push_back({{"class", verdict::ClassName(ClassOf(f.kind))},
                                  {"kind", simt::KindName(f.kind)},
                                  {"message", f.message},
                                  {"kernel", f.kernel},
                                  {"line", f.line.line},
                                  {"column", f.line.column},
                                  {"other_line", f.other_line.line},
                                  {"block", f.block},
                                  {"thread", f.thread},
                                  {"allocation", f.allocation},
                                  {"text", simt::Describe(f)}});
  }
  const hostabi::Counters& c = g_session->counters;
  answer["counters"] = {{"launches", c.launches},
                        {"lane_instructions", c.lane_instructions},
                        {"global_load_bytes", c.global_load_bytes},
                        {"global_store_bytes", c.global_store_bytes}};
  std::fflush(stdout);
  const std::string text = DumpJson(answer);
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = write(kResultFd, text.data() + at, text.size() - at);
    if (n <= 0) return;
    at += static_cast<size_t>(n);
  }
}

template <class Row>
std::span<const Row> Table(void* library, const char* rows, const char* count) {
  const auto* first = static_cast<const Row*>(dlsym(library, rows));
  const auto* n = static_cast<const uint64_t*>(dlsym(library, count));
  if (first == nullptr || n == nullptr) return {};
  return {first, static_cast<size_t>(*n)};
}

Result<int> RunProgram(int argc, char** argv) {
  KUAFU_TRY(const device::Target target, device::ParseTarget(argv[3]));
  hostabi::SessionOptions options;
  options.profile = target.profile;
  options.warp_width = static_cast<uint32_t>(ParseInt64(argv[4]).value_or(32));
  options.order_seed = std::strtoull(argv[5], nullptr, 10);
  options.sanitize = std::string_view(argv[6]) == "1";
  options.echo_printf = true;
  KUAFU_TRY(const std::string module,
            os::ReadFile(argv[1], static_cast<int64_t>(isa::kMaxModuleBytes)));
  // Both live until the process ends: exit handlers of the program may still use the device.
  g_session = new hostabi::Session(options);
  KUAFU_TRY_STATUS(
      g_session->LoadModule({reinterpret_cast<const uint8_t*>(module.data()), module.size()}));
  hostabi::SetCurrent(g_session);
  KUAFU_TRY(const os::SandboxReport report, os::EnterSandbox({.files = os::FileAccess::kReadOnly}));
  for (const std::string& missing : report.missing)
    std::fprintf(stderr, "kuafu-runner: note: %s\n", missing.c_str());
  std::atexit(Report);
  void* library = dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr)
    return Error{Code::kInvalidInput, std::string("loading the program's host code: ") + dlerror()};
  g_session->RegisterKernels(
      Table<hostabi::KernelEntry>(library, "kuafu_kernels", "kuafu_kernel_count"));
  g_session->RegisterSymbols(
      Table<hostabi::SymbolEntry>(library, "kuafu_symbols", "kuafu_symbol_count"));
  auto* entry = reinterpret_cast<int (*)(int, char**)>(dlsym(library, "main"));
  if (entry == nullptr)
    return Error{Code::kInvalidInput,
                 "starting the program: it has no main(); `kuafu run` needs one"};
  argv[6] = argv[2];
  return entry(argc - 6, argv + 6);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) {
    std::fputs(
        "usage: kuafu-runner MODULE SHARED_OBJECT TARGET WARP_WIDTH SEED SANITIZE [ARG ...]\n",
        stderr);
    return 2;
  }
  kuafu::Result<int> status = RunProgram(argc, argv);
  if (status.ok()) return status.value();
  std::fprintf(stderr, "kuafu-runner: %s\n", status.error().ToString().c_str());
  return 125;
}
