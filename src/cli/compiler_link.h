// SPDX-License-Identifier: Apache-2.0
// Makes a shared object of a host object, memory to memory.
#pragma once

#include "base/result.h"
#include "os/fd.h"

namespace kuafu::cli {

// `object_fd` is an ELF relocatable, borrowed for the call. What is undefined stays undefined: the
// program that loads the result provides it. Not sealed.
Result<os::UniqueFd> LinkSharedObject(int object_fd);

}  // namespace kuafu::cli
