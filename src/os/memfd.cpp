// SPDX-License-Identifier: Apache-2.0
// memfd_create, seals and mappings.
#include "os/memfd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "base/text.h"

namespace kuafu::os {

Result<UniqueFd> CreateMemfd(const char* name, int64_t bytes) {
  if (bytes < 0) return Error{Code::kInvalidInput, "creating shared memory: negative size"};
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return ErrnoError("creating shared memory", errno);
  if (ftruncate(fd.get(), bytes) != 0) {
    return ErrnoError("creating shared memory of " + FormatBytes(bytes), errno);
  }
  return fd;
}

Status SealSize(int fd) {
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return ErrnoError("sealing the size of shared memory", errno);
  }
  return OkStatus();
}

Status SealAll(int fd) {
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
    return ErrnoError("sealing shared memory", errno);
  }
  return OkStatus();
}

Result<int64_t> FdSize(int fd) {
  struct stat info{};
  if (fstat(fd, &info) != 0) return ErrnoError("reading the size of a descriptor", errno);
  return static_cast<int64_t>(info.st_size);
}

Status CheckSealed(int fd, int64_t bytes_min) {
  int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return Error{Code::kCorrupt,
                 "shared memory from another process: not sealed against shrinking"};
  }
  KUAFU_TRY(int64_t bytes, FdSize(fd));
  if (bytes < bytes_min) {
    return Error{Code::kCorrupt, "shared memory from another process: " + FormatBytes(bytes) +
                                     ", expected " + FormatBytes(bytes_min)};
  }
  return OkStatus();
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(bytes_));
}

Result<Mapping> MapFd(int fd, int64_t bytes, Access access) {
  KUAFU_TRY(int64_t size, FdSize(fd));
  if (bytes < 0 || bytes > size) {
    return Error{Code::kInvalidInput, "mapping " + std::to_string(bytes) +
                                          " bytes of a descriptor of " + std::to_string(size) +
                                          " bytes"};
  }
  Mapping mapping;
  if (bytes == 0) return mapping;
  int protection = access == Access::kReadWrite ? PROT_READ | PROT_WRITE : PROT_READ;
  // A private mapping would be enough to read, but sees no later writes of the owner.
  void* data = mmap(nullptr, static_cast<size_t>(bytes), protection, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) return ErrnoError("mapping " + FormatBytes(bytes), errno);
  mapping.data_ = static_cast<uint8_t*>(data);
  mapping.bytes_ = bytes;
  return mapping;
}

Result<void*> MapZeros(int64_t bytes) {
  void* start = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return ErrnoError("mapping " + FormatBytes(bytes), errno);
  return start;
}

Result<void*> MapRepeated(int fd, int64_t pattern_bytes, int64_t bytes) {
  KUAFU_TRY(void* const start, MapZeros(bytes));
  for (int64_t at = 0; at < bytes; at += pattern_bytes) {
    void* const piece = mmap(
        static_cast<uint8_t*>(start) + at, static_cast<size_t>(std::min(pattern_bytes, bytes - at)),
        PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, 0);
    if (piece != MAP_FAILED) continue;
    const int error = errno;
    Unmap(start, bytes);
    return ErrnoError("mapping " + FormatBytes(bytes) + " of a pattern", error);
  }
  return start;
}

Status MapZerosAt(void* start, int64_t bytes) {
  if (mmap(start, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
    return ErrnoError("mapping zeros over " + FormatBytes(bytes), errno);
  return OkStatus();
}

void Unmap(void* start, int64_t bytes) { munmap(start, static_cast<size_t>(bytes)); }

}  // namespace kuafu::os
