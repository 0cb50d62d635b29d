// SPDX-License-Identifier: Apache-2.0
// Linking by ld itself: the compiler driver would start two processes more and read the C start-up
// files, which a candidate does not need.
#include "cli/compiler_link.h"

#include <string>

#include "base/text.h"
#include "os/memfd.h"
#include "os/process.h"

namespace kuafu::cli {
namespace {

constexpr int64_t kLinkMsMax = 20'000;
constexpr int kObjectFd = 10, kOutputFd = 11;

}  // namespace

Result<os::UniqueFd> LinkSharedObject(int object_fd) {
  KUAFU_TRY(const std::string linker, os::FindProgram("ld"));
  KUAFU_TRY(os::UniqueFd output, os::CreateMemfd("kuafu-host", 0));
  // Without --eh-frame-hdr, which g++ would add, no exception finds its handler.
  KUAFU_TRY(
      os::Process process,
      os::Spawn({linker, "-shared", "--eh-frame-hdr", "--no-dynamic-linker", "--build-id=none",
                 "-O0", "-znow", "-o", "/proc/self/fd/11", "/proc/self/fd/10"},
                {.inherited_fds = {{object_fd, kObjectFd}, {output.get(), kOutputFd}},
                 .stderr_stream = os::Stream::kCapture}));
  KUAFU_TRY(const os::ExitStatus status, process.Wait(os::Deadline::AfterMs(kLinkMsMax)));
  if (status.ok()) return output;
  return Error{Code::kInvalidInput, "linking the host code: " + status.ToString() + ": " +
                                        std::string(Trim(process.captured_stderr()))};
}

}  // namespace kuafu::cli
