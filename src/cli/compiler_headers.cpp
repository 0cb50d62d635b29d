// SPDX-License-Identifier: Apache-2.0
// One file for each set of headers: a hash of the rest, then the rest. Clang itself knows which
// files it has read and whether they have changed.
#include "cli/compiler_headers.h"

#include <string>

#include "base/hash.h"
#include "base/text.h"
#include "os/file.h"

namespace kuafu::cli {
namespace {

constexpr int64_t kFileBytesMax = 64 << 20;
constexpr size_t kFilesMax = 16;  // 11 MB each; beyond, all go
constexpr size_t kHashBytes = 32;
constexpr std::string_view kSuffix = ".pch";

std::string_view AsText(const std::vector<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Empty: nothing usable.
std::vector<uint8_t> Load(const std::string& path) {
  const Result<std::string> file = os::ReadFile(path, kFileBytesMax);
  if (!file.ok() || file.value().size() <= kHashBytes) return {};
  const std::string_view text = file.value();
  const std::string_view rest = text.substr(kHashBytes);
  if (HashHex(rest) != text.substr(0, kHashBytes)) return {};
  return {rest.begin(), rest.end()};
}

Status Store(const std::string& directory, const std::string& path,
             const std::vector<uint8_t>& headers) {
  KUAFU_TRY_STATUS(os::MakeDirs(directory));
  KUAFU_TRY(const std::vector<std::string> names, os::ListDir(directory));
  if (names.size() >= kFilesMax) {
    for (const std::string& name : names) {
      if (EndsWith(name, kSuffix)) KUAFU_TRY_STATUS(os::RemoveTree(os::JoinPath(directory, name)));
    }
  }
  return os::WriteFileAtomic(path, HashHex(AsText(headers)) + std::string(AsText(headers)));
}

}  // namespace

Result<std::vector<uint8_t>> HeadersFromCache(klang::Half half, const klang::HeaderSet& set) {
  const Result<std::string> cache = os::CacheDir();
  if (!cache.ok()) return klang::PrecompileHeaders(half, set);
  const std::string directory = os::JoinPath(cache.value(), "headers");
  const std::string path =
      os::JoinPath(directory, klang::HeadersName(half, set) + std::string(kSuffix));
  std::vector<uint8_t> headers = Load(path);
  if (!headers.empty() && klang::HeadersAreCurrent(half, set, headers)) return headers;
  KUAFU_TRY(headers, klang::PrecompileHeaders(half, set));
  (void)Store(directory, path, headers);  // a full or read-only disk is no reason to fail
  return headers;
}

}  // namespace kuafu::cli
