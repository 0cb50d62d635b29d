// SPDX-License-Identifier: Apache-2.0
// Answers of the helper on disk. A file that is damaged or of another version counts as absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "frontend/frontend.h"
#include "os/fd.h"

namespace kuafu::frontend {

inline constexpr int64_t kCacheFileBytesMax = int64_t{256} << 20;

// What the helper answers with: JSON and two sealed memfds.
struct Answer {
  std::string reply;
  os::UniqueFd inputs;
  os::UniqueFd truth;
};

std::string CacheKey(const TrialRequest& request, const std::string& script_hash,
                     const std::string& torch_version);
std::optional<Answer> LoadAnswer(const std::string& directory, const std::string& key);
// Larger answers than kCacheFileBytesMax are not kept.
Status StoreAnswer(const std::string& directory, const std::string& key, const Answer& answer);

// The version of the installed PyTorch, known without starting it: its version.py is the same file
// with the same content as when a helper last reported it.
std::optional<std::string> KnownTorch(const std::string& directory, const std::string& python);
Status RememberTorch(const std::string& directory, const std::string& python,
                     const std::string& version, const std::string& version_file);

}  // namespace kuafu::frontend
