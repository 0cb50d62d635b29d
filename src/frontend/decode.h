// SPDX-License-Identifier: Apache-2.0
// The helper's answer as a TrialSet. Everything in it is checked: the process that wrote it has run
// a foreign file.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "frontend/frontend.h"
#include "os/fd.h"
#include "task/operators.h"

namespace kuafu::frontend {

inline constexpr int64_t kReplyBytesMax = int64_t{64} << 20;
inline constexpr int64_t kDataBytesMax = int64_t{1} << 30;
inline constexpr int64_t kTrialsMax = 4096;
inline constexpr int64_t kInitJsonBytesMax = int64_t{64} << 10;
inline constexpr int64_t kSizesBytesMax = int64_t{64} << 10;
inline constexpr int64_t kNotesMax = 256;
inline constexpr int64_t kStorageAlignment = 256;

// `reply` is the JSON; `inputs` and `truth` are sealed memfds of exactly the bytes it speaks of. An
// error that the reply itself reports (a bad reference file) is returned with its code.
Result<TrialSet> DecodeReply(std::string_view reply, os::UniqueFd inputs,
                             const os::UniqueFd& truth);

Result<task::OperatorList> DecodeOperators(std::string_view reply);

}  // namespace kuafu::frontend
