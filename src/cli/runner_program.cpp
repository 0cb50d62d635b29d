// SPDX-License-Identifier: Apache-2.0
// The runner's mode for `kuafu run`: calls the main() of a whole program and leaves what the
// simulated device saw as JSON in the file that is open as descriptor 3.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/text.h"
#include "cli/runner.h"
#include "device/profile.h"
#include "hostabi/host_code.h"
#include "hostabi/report.h"
#include "os/file.h"
#include "os/sandbox.h"

namespace kuafu::runner {
namespace {

constexpr int kResultFd = 3;

hostabi::Session* g_session = nullptr;

// Runs at exit as well, because a program may end by exit() instead of returning from main.
void Report() {
  g_session->CheckRedZones();
  const Json answer = hostabi::SessionJson(*g_session);
  std::fflush(stdout);
  const std::string text = DumpJson(answer);
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = write(kResultFd, text.data() + at, text.size() - at);
    if (n <= 0) return;
    at += static_cast<size_t>(n);
  }
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
  // Lives until the process ends: exit handlers of the program may still use the device.
  g_session = new hostabi::Session(options);
  const Result<size_t> loaded =
      g_session->LoadModule({reinterpret_cast<const uint8_t*>(module.data()), module.size()});
  if (!loaded.ok()) return loaded.error();
  hostabi::SetCurrent(g_session);
  KUAFU_TRY(const os::SandboxReport report, os::EnterSandbox({.files = os::FileAccess::kReadOnly}));
  for (const std::string& missing : report.missing)
    std::fprintf(stderr, "kuafu-runner: note: %s\n", missing.c_str());
  std::atexit(Report);
  KUAFU_TRY(void* library, hostabi::LoadHostCode(*g_session, argv[2]));
  auto* entry = reinterpret_cast<int (*)(int, char**)>(dlsym(library, "main"));
  if (entry == nullptr)
    return Error{Code::kInvalidInput,
                 "starting the program: it has no main(); `kuafu run` needs one"};
  argv[6] = argv[2];
  return entry(argc - 6, argv + 6);
}

}  // namespace

int ProgramMain(int argc, char** argv) {
  Result<int> status = RunProgram(argc, argv);
  if (status.ok()) return status.value();
  std::fprintf(stderr, "kuafu-runner: %s\n", status.error().ToString().c_str());
  return kInfraExit;
}

}  // namespace kuafu::runner
