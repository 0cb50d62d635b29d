// SPDX-License-Identifier: Apache-2.0
// Descriptor ownership and the translation of errno into codes.
#include "os/fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace kuafu::os {

void UniqueFd::Reset(int fd) {
  // close() is not retried on EINTR: Linux has released the descriptor already.
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

Result<UniqueFd> UniqueFd::Duplicate() const {
  int fd = fcntl(fd_, F_DUPFD_CLOEXEC, 3);
  if (fd < 0) return ErrnoError("duplicating a file descriptor", errno);
  return UniqueFd(fd);
}

Error ErrnoError(std::string_view what, int error_number) {
  Code code = Code::kInternal;
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH: code = Code::kNotFound; break;
    case EEXIST: code = Code::kAlreadyExists; break;
    case EACCES:
    case EPERM:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EROFS: code = Code::kInvalidInput; break;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
    case EFBIG: code = Code::kExhausted; break;
    case EAGAIN:
    case EBUSY:
    case EPIPE:
    case ECONNRESET:
    case ETXTBSY: code = Code::kUnavailable; break;
    case ENOSYS:
    case EOPNOTSUPP: code = Code::kUnsupported; break;
    case ETIMEDOUT: code = Code::kDeadline; break;
    default: break;
  }
  return Error{code, std::string(what) + ": " + std::generic_category().message(error_number)};
}

}  // namespace kuafu::os
