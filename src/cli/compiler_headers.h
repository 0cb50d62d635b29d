// SPDX-License-Identifier: Apache-2.0
// Precompiled headers on disk, so that the first kernel of a command does not wait for them.
#pragma once

#include <cstdint>
#include <vector>

#include "klang/klang.h"

namespace kuafu::cli {

// From the user's cache when what is there still stands for the files on this machine; otherwise
// made and kept. A cache that cannot be used costs time and nothing else.
Result<std::vector<uint8_t>> HeadersFromCache(klang::Half half, const klang::HeaderSet& set);

}  // namespace kuafu::cli
