// SPDX-License-Identifier: Apache-2.0
// One file per answer: a line of text with the sizes and a hash of the rest, then the rest.
#include "frontend/cache.h"

#include <cstring>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "os/file.h"
#include "os/memfd.h"

namespace kuafu::frontend {
namespace {

constexpr std::string_view kMagic = "kuafu-trials-1";
constexpr int64_t kVersionFileBytesMax = int64_t{1} << 20;

std::string PathOf(const std::string& directory, const std::string& key) {
  return os::JoinPath(directory, key + ".trials");
}

Result<os::UniqueFd> ToMemfd(const char* name, std::string_view bytes) {
  const auto count = static_cast<int64_t>(bytes.size());
  KUAFU_TRY(os::UniqueFd fd, os::CreateMemfd(name, count));
  if (count > 0) {
    KUAFU_TRY(os::Mapping map, os::MapFd(fd.get(), count, os::Access::kReadWrite));
    std::memcpy(map.bytes().data(), bytes.data(), bytes.size());
  }
  KUAFU_TRY_STATUS(os::SealAll(fd.get()));
  return fd;
}

Status Append(std::string& text, const os::UniqueFd& fd, int64_t bytes) {
  KUAFU_TRY(const os::Mapping map, os::MapFd(fd.get(), bytes, os::Access::kReadOnly));
  text.append(reinterpret_cast<const char*>(map.bytes().data()), static_cast<size_t>(bytes));
  return OkStatus();
}

Result<std::string> HashOfFile(const std::string& path) {
  KUAFU_TRY(const std::string text, os::ReadFile(path, kVersionFileBytesMax));
  return HashHex(text);
}

}  // namespace

std::string CacheKey(const TrialRequest& request, const std::string& script_hash,
                     const std::string& torch_version) {
  return Hasher()
      .Add(kMagic)
      .Add(request.source)
      .Add(request.name)
      .Add(static_cast<int64_t>(request.plan))
      .Add(std::to_string(request.seed))
      .Add(request.nominal_only ? 1 : 0)
      .Add(request.nominal_trial ? 1 : 0)
      .Add(request.as_built ? 1 : 0)
      .Add(request.compat_kernelbench ? 1 : 0)
      .Add(request.alternatives ? 1 : 0)
      .Add(script_hash)
      .Add(torch_version)
      .Hex();
}

std::optional<Answer> LoadAnswer(const std::string& directory, const std::string& key) {
  auto file = os::ReadFile(PathOf(directory, key), kCacheFileBytesMax);
  if (!file.ok()) return std::nullopt;
  const std::string_view text = file.value();
  const size_t end = text.find('\n');
  if (end == std::string_view::npos || end > 200) return std::nullopt;
  const auto fields = Split(text.substr(0, end), ' ');
  if (fields.size() != 5 || fields[0] != kMagic) return std::nullopt;
  const std::string_view rest = text.substr(end + 1);
  if (HashHex(rest) != fields[1]) return std::nullopt;
  size_t sizes[3] = {};
  size_t total = 0;
  for (size_t i = 0; i < 3; ++i) {
    const auto size = ParseInt64(fields[2 + i]);
    if (!size.has_value() || *size < 0 || *size > kCacheFileBytesMax) return std::nullopt;
    sizes[i] = static_cast<size_t>(*size);
    total += sizes[i];
  }
  if (total != rest.size()) return std::nullopt;
  auto inputs = ToMemfd("kuafu-inputs", rest.substr(sizes[0], sizes[1]));
  auto truth = ToMemfd("kuafu-truth", rest.substr(sizes[0] + sizes[1]));
  if (!inputs.ok() || !truth.ok()) return std::nullopt;
  return Answer{std::string(rest.substr(0, sizes[0])), std::move(inputs).value(),
                std::move(truth).value()};
}

Status StoreAnswer(const std::string& directory, const std::string& key, const Answer& answer) {
  KUAFU_TRY(const int64_t inputs_bytes, os::FdSize(answer.inputs.get()));
  KUAFU_TRY(const int64_t truth_bytes, os::FdSize(answer.truth.get()));
  const auto reply_bytes = static_cast<int64_t>(answer.reply.size());
  if (reply_bytes + inputs_bytes + truth_bytes > kCacheFileBytesMax / 2) return OkStatus();
  std::string rest = answer.reply;
  KUAFU_TRY_STATUS(Append(rest, answer.inputs, inputs_bytes));
  KUAFU_TRY_STATUS(Append(rest, answer.truth, truth_bytes));
  std::string text(kMagic);
  text += " " + HashHex(rest) + " " + std::to_string(reply_bytes) + " " +
          std::to_string(inputs_bytes) + " " + std::to_string(truth_bytes) + "\n";
  text += rest;
  KUAFU_TRY_STATUS(os::MakeDirs(directory));
  return os::WriteFileAtomic(PathOf(directory, key), text);
}

std::optional<std::string> KnownTorch(const std::string& directory, const std::string& python) {
  auto file = os::ReadFile(os::JoinPath(directory, "torch"), kVersionFileBytesMax);
  if (!file.ok()) return std::nullopt;
  const auto lines = SplitLines(file.value());
  if (lines.size() != 4 || lines[0] != python) return std::nullopt;
  auto hash = HashOfFile(std::string(lines[2]));
  if (!hash.ok() || hash.value() != lines[3]) return std::nullopt;
  return std::string(lines[1]);
}

Status RememberTorch(const std::string& directory, const std::string& python,
                     const std::string& version, const std::string& version_file) {
  KUAFU_TRY(const std::string hash, HashOfFile(version_file));
  KUAFU_TRY_STATUS(os::MakeDirs(directory));
  return os::WriteFileAtomic(os::JoinPath(directory, "torch"),
                             python + "\n" + version + "\n" + version_file + "\n" + hash + "\n");
}

}  // namespace kuafu::frontend
