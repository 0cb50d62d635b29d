// SPDX-License-Identifier: Apache-2.0
// flock: the kernel lets go of it however the process ends.
#include "os/lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "base/text.h"

namespace kuafu::os {

Result<UniqueFd> LockFile(const std::string& path) {
  const std::string what = "locking '" + EscapeForMessage(path) + "'";
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd.valid()) return ErrnoError(what, errno);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoError(what, errno);
    return Error{Code::kUnavailable, what + ": another process has it"};
  }
  return fd;
}

}  // namespace kuafu::os
