// SPDX-License-Identifier: Apache-2.0
// Anonymous memory that travels between processes as a descriptor. Tensors and results go this way:
// no copy through a pipe, no file left behind, and a seal that stops the other side from changing
// the size.
//
//   KUAFU_TRY(os::UniqueFd fd, os::CreateMemfd("inputs", bytes));
//   KUAFU_TRY(os::Mapping map, os::MapFd(fd.get(), bytes, os::Access::kReadWrite));
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "os/fd.h"

namespace kuafu::os {

enum class Access { kReadOnly, kReadWrite };

// Zero-filled, `bytes` long; pages appear when touched. `name` shows in /proc only.
Result<UniqueFd> CreateMemfd(const char* name, int64_t bytes);

// The size can no longer change.
Status SealSize(int fd);
// Neither size nor content can change; fails with unavailable while a writable mapping exists.
Status SealAll(int fd);
// An error unless `fd` is a memfd of at least `bytes_min` bytes that nobody can shrink. To be asked
// of every descriptor that comes from another process: a mapping that is cut short kills its
// reader.
Status CheckSealed(int fd, int64_t bytes_min);
Result<int64_t> FdSize(int fd);

// A shared mapping; unmapped at the end. Movable. The descriptor may be closed while it lives.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::span<uint8_t> bytes() { return {data_, static_cast<size_t>(bytes_)}; }
  std::span<const uint8_t> bytes() const { return {data_, static_cast<size_t>(bytes_)}; }
  int64_t size_bytes() const { return bytes_; }

 private:
  friend Result<Mapping> MapFd(int fd, int64_t bytes, Access access);
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
};

// Maps the first `bytes` bytes, which must exist. Zero bytes give an empty mapping.
Result<Mapping> MapFd(int fd, int64_t bytes, Access access);

// Private memory of so many bytes, a multiple of the page size, that costs nothing until it is
// touched: zeros, or the first `pattern_bytes` bytes of `fd` (a multiple of the page size) over and
// over. To be given back with Unmap.
Result<void*> MapZeros(int64_t bytes);
Result<void*> MapRepeated(int fd, int64_t pattern_bytes, int64_t bytes);
// Zeros in place of pages that one of the above has mapped.
Status MapZerosAt(void* start, int64_t bytes);
void Unmap(void* start, int64_t bytes);
inline constexpr int64_t kPageBytes = 4096;

}  // namespace kuafu::os
