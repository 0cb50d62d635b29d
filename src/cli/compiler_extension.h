// SPDX-License-Identifier: Apache-2.0
// Compiles the units of an extension side by side and links them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/compiler_worker.h"
#include "klang/klang.h"
#include "os/channel.h"

namespace kuafu::cli {

// Each unit may have a module, and all have one library; they go back in one frame.
inline constexpr size_t kUnitsMax = os::kChannelFdsMax - 1;

struct ExtensionAnswer {
  bool timed_out = false;
  std::string crash;  // how the process ended over a unit; empty = it did not
  bool ok = false;
  std::vector<klang::Diagnostic> diagnostics;  // unit by unit
  double device_ms = 0, host_ms = 0;
  std::vector<os::UniqueFd> files;  // the modules of the units that have one, then the library
};

// `units`: each with its place and the same headers. An Error means that this installation is
// broken.
Result<ExtensionAnswer> CompileExtension(const std::vector<klang::CompileRequest>& units,
                                         int64_t timeout_ms, CompileWorker& device,
                                         CompileWorker& host);

}  // namespace kuafu::cli
