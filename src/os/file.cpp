// SPDX-License-Identifier: Apache-2.0
// POSIX calls rather than <filesystem>: no exceptions, O_NOFOLLOW and O_CLOEXEC where they matter.
#include "os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "os/fd.h"

namespace kuafu::os {
namespace {

// Directories deeper than this in a tree to remove are somebody's attack or mistake.
constexpr int kTreeDepthMax = 128;

std::string Quote(const std::string& path) { return "'" + EscapeForMessage(path) + "'"; }

Status WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoError("writing " + Quote(path), errno);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return OkStatus();
}

// Closes the directory stream at the end of the scope; fdopendir has taken over the descriptor.
class Directory {
 public:
  explicit Directory(int fd) : stream_(fdopendir(fd)) {
    if (stream_ == nullptr) close(fd);
  }
  ~Directory() {
    if (stream_ != nullptr) closedir(stream_);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  bool ok() const { return stream_ != nullptr; }
  int fd() const { return dirfd(stream_); }
  // Null at the end.
  const dirent* Next() {
    while (const dirent* entry = readdir(stream_)) {
      std::string_view name = entry->d_name;
      if (name != "." && name != "..") return entry;
    }
    return nullptr;
  }

 private:
  DIR* stream_;
};

Status RemoveContent(int dir_fd, const std::string& path, int depth) {
  Directory directory(dir_fd);
  if (!directory.ok()) return ErrnoError("listing " + Quote(path), errno);
  if (depth > kTreeDepthMax) {
    return Error{Code::kExhausted, "removing " + Quote(path) + ": deeper than " +
                                       std::to_string(kTreeDepthMax) + " directories"};
  }
  while (const dirent* entry = directory.Next()) {
    if (unlinkat(directory.fd(), entry->d_name, 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) {
      return ErrnoError("removing " + Quote(JoinPath(path, entry->d_name)), errno);
    }
    int child =
        openat(directory.fd(), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    std::string child_path = JoinPath(path, entry->d_name);
    if (child < 0) return ErrnoError("opening " + Quote(child_path), errno);
    KUAFU_TRY_STATUS(RemoveContent(child, child_path, depth + 1));
    if (unlinkat(directory.fd(), entry->d_name, AT_REMOVEDIR) != 0) {
      return ErrnoError("removing " + Quote(child_path), errno);
    }
  }
  return OkStatus();
}

}  // namespace

Result<std::string> ReadAll(int fd, int64_t bytes_max) {
  std::string content;
  constexpr int64_t kChunk = 64 * 1024;
  while (true) {
    // One byte more than allowed tells "exactly full" from "too long".
    int64_t want = std::min(kChunk, bytes_max + 1 - static_cast<int64_t>(content.size()));
    size_t old_size = content.size();
    content.resize(old_size + static_cast<size_t>(want));
    ssize_t count = read(fd, content.data() + old_size, static_cast<size_t>(want));
    content.resize(old_size + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoError("reading", errno);
    if (count == 0) return content;
    if (static_cast<int64_t>(content.size()) > bytes_max) {
      return Error{Code::kExhausted, "reading: more than " + FormatBytes(bytes_max)};
    }
  }
}

Result<std::string> ReadFile(const std::string& path, int64_t bytes_max) {
  // O_NONBLOCK: opening a FIFO would otherwise wait for a writer before it can be refused.
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return ErrnoError("opening " + Quote(path), errno);
  struct stat info{};
  if (fstat(fd.get(), &info) != 0) return ErrnoError("reading " + Quote(path), errno);
  if (!S_ISREG(info.st_mode)) {
    return Error{Code::kInvalidInput, "reading " + Quote(path) + ": not a regular file"};
  }
  Result<std::string> content = ReadAll(fd.get(), bytes_max);
  if (!content.ok()) return std::move(content).error().WithContext(Quote(path));
  return content;
}

Status WriteFileAtomic(const std::string& path, std::string_view bytes, int mode) {
  std::string temporary = path + ".tmp.XXXXXX";
  UniqueFd fd(mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) return ErrnoError("creating " + Quote(temporary), errno);
  Status status = WriteAll(fd.get(), bytes, path);
  if (status.ok() && fchmod(fd.get(), static_cast<mode_t>(mode)) != 0) {
    status = ErrnoError("changing the mode of " + Quote(temporary), errno);
  }
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = ErrnoError("renaming to " + Quote(path), errno);
  }
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

Status AppendFile(const std::string& path, std::string_view bytes) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!fd.valid()) return ErrnoError("opening " + Quote(path), errno);
  return WriteAll(fd.get(), bytes, path);
}

Status MakeWorldReadable(const std::string& directory) {
  KUAFU_TRY(const std::vector<std::string> names, ListDir(directory));
  for (const std::string& name : names) {
    if (chmod(JoinPath(directory, name).c_str(), 0644) != 0) {
      return ErrnoError("making " + Quote(JoinPath(directory, name)) + " readable", errno);
    }
  }
  if (chmod(directory.c_str(), 0755) != 0) {
    return ErrnoError("making " + Quote(directory) + " readable", errno);
  }
  return OkStatus();
}

bool FileExists(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0;
}

bool IsDirectory(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Result<int64_t> FileSize(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return ErrnoError("looking at " + Quote(path), errno);
  return static_cast<int64_t>(info.st_size);
}

Result<std::vector<std::string>> ListDir(const std::string& path, int64_t entries_max) {
  int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoError("opening directory " + Quote(path), errno);
  Directory directory(fd);
  if (!directory.ok()) return ErrnoError("listing " + Quote(path), errno);
  std::vector<std::string> names;
  while (const dirent* entry = directory.Next()) {
    if (static_cast<int64_t>(names.size()) >= entries_max) {
      return Error{Code::kExhausted, "listing " + Quote(path) + ": more than " +
                                         std::to_string(entries_max) + " entries"};
    }
    names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status MakeDirs(const std::string& path) {
  if (path.empty() || IsDirectory(path)) return OkStatus();
  std::string parent = DirName(path);
  if (parent != path) KUAFU_TRY_STATUS(MakeDirs(parent));
  if (mkdir(path.c_str(), 0755) != 0 && !(errno == EEXIST && IsDirectory(path))) {
    return ErrnoError("creating directory " + Quote(path), errno);
  }
  return OkStatus();
}

Status RemoveTree(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return OkStatus();
  if (errno != EISDIR && errno != EPERM) return ErrnoError("removing " + Quote(path), errno);
  int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return ErrnoError("opening " + Quote(path), errno);
  KUAFU_TRY_STATUS(RemoveContent(fd, path, 0));
  if (rmdir(path.c_str()) != 0) return ErrnoError("removing " + Quote(path), errno);
  return OkStatus();
}

Result<std::string> RealPath(const std::string& path) {
  std::array<char, PATH_MAX> buffer{};
  if (realpath(path.c_str(), buffer.data()) == nullptr) {
    return ErrnoError("resolving " + Quote(path), errno);
  }
  return std::string(buffer.data());
}

Result<std::string> ExecutablePath() { return RealPath("/proc/self/exe"); }

std::optional<std::string> GetEnv(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

Result<std::string> CacheDir() {
  std::string base = GetEnv("XDG_CACHE_HOME").value_or("");
  if (base.empty() || base[0] != '/') {
    std::string home = GetEnv("HOME").value_or("");
    if (home.empty()) {
      return Error{Code::kNotFound, "cache directory: neither XDG_CACHE_HOME nor HOME is set"};
    }
    base = JoinPath(home, ".cache");
  }
  std::string path = JoinPath(base, "kuafu");
  KUAFU_TRY_STATUS(MakeDirs(path));
  return path;
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.empty() && path.back() != '/') path += '/';
  path += name;
  return path;
}

std::string BaseName(std::string_view path) {
  size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::string DirName(std::string_view path) {
  size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(slash == 0 ? "/" : path.substr(0, slash));
}

Result<TempDir> TempDir::Create(std::string_view label) {
  std::string base = GetEnv("TMPDIR").value_or("/tmp");
  if (base.empty() || base[0] != '/') base = "/tmp";
  std::string path = JoinPath(base, "kuafu-" + std::string(label) + "-XXXXXX");
  if (mkdtemp(path.data()) == nullptr)
    return ErrnoError("creating directory " + Quote(path), errno);
  return TempDir(std::move(path));
}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TempDir::~TempDir() {
  // Nobody can act on a failure here; the directory is under /tmp.
  if (!path_.empty()) static_cast<void>(RemoveTree(path_));
}

}  // namespace kuafu::os
