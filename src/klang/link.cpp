// SPDX-License-Identifier: Apache-2.0
// LLVM's linker as a library: starting a linker takes ten times as long as linking a candidate.
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <string>

#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

#include "base/text.h"
#include "klang/stages.h"
#include "os/memfd.h"

LLD_HAS_DRIVER(elf)

namespace kuafu::klang {
namespace {

// Standard output goes to `fd` while this lives.
class Redirect {
 public:
  explicit Redirect(int fd) : saved_(dup(STDOUT_FILENO)) { ok_ = dup2(fd, STDOUT_FILENO) >= 0; }
  ~Redirect() {
    if (saved_.valid()) dup2(saved_.get(), STDOUT_FILENO);
  }
  bool ok() const { return ok_ && saved_.valid(); }

 private:
  os::UniqueFd saved_;
  bool ok_ = false;
};

Result<os::UniqueFd> MemoryFile(std::span<const uint8_t> content) {
  const auto bytes = static_cast<int64_t>(content.size());
  KUAFU_TRY(os::UniqueFd fd, os::CreateMemfd("kuafu-object", bytes));
  KUAFU_TRY(os::Mapping map, os::MapFd(fd.get(), bytes, os::Access::kReadWrite));
  std::copy(content.begin(), content.end(), map.bytes().begin());
  return fd;
}

}  // namespace

Result<std::vector<uint8_t>> LinkLibrary(std::span<const UnitObject> objects, Symbols symbols) {
  static std::mutex mutex;  // lld and the redirection are the process's
  const std::lock_guard lock(mutex);
  std::vector<os::UniqueFd> inputs;
  std::vector<std::string> paths;
  for (const UnitObject& object : objects) {
    KUAFU_TRY(os::UniqueFd input, MemoryFile(object.bytes));
    paths.push_back("/proc/self/fd/" + std::to_string(input.get()));
    inputs.push_back(std::move(input));
  }
  KUAFU_TRY(const os::UniqueFd output, os::CreateMemfd("kuafu-library", 0));
  // Without --eh-frame-hdr, which compilers add, no exception finds its handler. "-" because to a
  // named file the linker writes by renaming another one.
  std::vector<const char*> arguments = {"ld.lld",          "-shared", "--eh-frame-hdr",
                                        "--build-id=none", "-O0",     "-znow",
                                        "--threads=1",     "-o",      "-"};
  if (symbols == Symbols::kOwn) arguments.push_back("-Bsymbolic");
  for (const std::string& path : paths) arguments.push_back(path.c_str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  bool ok = false;
  {
    const Redirect redirect(output.get());
    if (!redirect.ok()) return os::ErrnoError("redirecting the linker's output", errno);
    ok = lld::elf::link(arguments, llvm::nulls(), stream, /*exitEarly=*/false,
                        /*disableOutput=*/false);
    lld::CommonLinkerContext::destroy();
  }
  if (!ok) {
    std::string text(Trim(stream.str()));
    for (size_t i = paths.size(); i-- > 0;) text = ReplaceAll(text, paths[i], objects[i].file);
    return Error{Code::kInvalidInput, "linking the host code: " + text};
  }
  KUAFU_TRY(const int64_t bytes, os::FdSize(output.get()));
  KUAFU_TRY(const os::Mapping map, os::MapFd(output.get(), bytes, os::Access::kReadOnly));
  return std::vector<uint8_t>(map.bytes().begin(), map.bytes().end());
}

}  // namespace kuafu::klang
