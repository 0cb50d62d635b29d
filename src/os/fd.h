// SPDX-License-Identifier: Apache-2.0
// A file descriptor with an owner, and the text of a failed system call.
#pragma once

#include <string_view>
#include <utility>

#include "base/result.h"

namespace kuafu::os {

// Owns one descriptor; closes it at the end. Movable, not copyable.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Gives up ownership.
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1);
  // A second descriptor of the same open file, close-on-exec.
  Result<UniqueFd> Duplicate() const;

 private:
  int fd_ = -1;
};

// An Error for the system call that just failed: "what: strerror(error_number)". The code follows
// errno (ENOENT is not_found, EMFILE is exhausted, ...).
Error ErrnoError(std::string_view what, int error_number);

}  // namespace kuafu::os
