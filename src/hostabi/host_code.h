// SPDX-License-Identifier: Apache-2.0
// Loading of a candidate's host code. Its static constructors run here, so the sandbox must have
// been entered.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "hostabi/session.h"

namespace kuafu::hostabi {

// One source: its kernels and variables are those of module 0. The dlopen handle; it stays loaded.
Result<void*> LoadHostCode(Session& session, const char* path);
// Several translation units in one library. modules[u] is the session's module of unit u; units
// without device code are not looked up.
Result<void*> LoadUnits(Session& session, const char* path, const std::vector<size_t>& modules);

}  // namespace kuafu::hostabi
