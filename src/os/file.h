// SPDX-License-Identifier: Apache-2.0
// Files and directories, with a limit on everything that is read.
//
//   KUAFU_TRY(std::string source, os::ReadFile(path, kSourceBytesMax));
//   KUAFU_TRY(os::TempDir dir, os::TempDir::Create("build"));
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kuafu::os {

// A regular file of at most `bytes_max` bytes. A directory, a pipe or a device is invalid_input:
// reading one of them could block for ever.
Result<std::string> ReadFile(const std::string& path, int64_t bytes_max);

// Everything from an open descriptor up to its end; used for standard input.
Result<std::string> ReadAll(int fd, int64_t bytes_max);

// A reader sees the old content or all of the new. Written beside `path` and renamed. Not synced: a
// busy disk takes a minute for that, and what is written here can be made again.
Status WriteFileAtomic(const std::string& path, std::string_view bytes, int mode = 0644);
// One write at the end of the file, created when absent. For logs and result streams.
Status AppendFile(const std::string& path, std::string_view bytes);

// A directory with the files directly in it, for a child that runs as another user.
Status MakeWorldReadable(const std::string& directory);

bool FileExists(const std::string& path);
bool IsDirectory(const std::string& path);
Result<int64_t> FileSize(const std::string& path);
// Names, sorted, without "." and "..". More than `entries_max` is an error.
Result<std::vector<std::string>> ListDir(const std::string& path, int64_t entries_max = 100'000);
// Like mkdir -p.
Status MakeDirs(const std::string& path);
// Like rm -rf; does not follow symbolic links. Absent is fine.
Status RemoveTree(const std::string& path);

// Of this program, resolved.
Result<std::string> ExecutablePath();
// $XDG_CACHE_HOME/kuafu or ~/.cache/kuafu; created when absent.
Result<std::string> CacheDir();
// Environment variables are for debugging and for standard directories only.
std::optional<std::string> GetEnv(const char* name);

std::string JoinPath(std::string_view directory, std::string_view name);
std::string BaseName(std::string_view path);
std::string DirName(std::string_view path);
// Absolute, with symbolic links resolved; the path must exist.
Result<std::string> RealPath(const std::string& path);

// A fresh directory (mode 0700) that is removed with its content at the end.
class TempDir {
 public:
  // `label` becomes part of the name, for a person who looks into /tmp.
  static Result<TempDir> Create(std::string_view label);
  TempDir(TempDir&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TempDir& operator=(TempDir&& other) noexcept;
  ~TempDir();

  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const { return JoinPath(path_, name); }

 private:
  explicit TempDir(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace kuafu::os
