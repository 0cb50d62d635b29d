// SPDX-License-Identifier: Apache-2.0
// A lock between processes, as a file: whoever keeps state in a folder must be alone with it.
//
//   KUAFU_TRY(os::UniqueFd lock, os::LockFile(os::JoinPath(directory, "lock")));
#pragma once

#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace kuafu::os {

// Held until the descriptor closes, which is at the latest when this process ends; the file stays.
// unavailable when another process, or an earlier call, holds it.
Result<UniqueFd> LockFile(const std::string& path);

}  // namespace kuafu::os
