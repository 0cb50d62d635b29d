// SPDX-License-Identifier: Apache-2.0
// Checks for programmer errors. KUAFU_CHECK is always on, KUAFU_DCHECK only in builds without
// NDEBUG: the first belongs at module edges, the second in hot loops.
//
//   KUAFU_CHECK(index < count, "lane index out of range");
//
// Never on user input, model files or candidate kernels: a library must not kill its process
// because of data. Those are Result values.
#pragma once

namespace kuafu {

// Prints the place and the reason to stderr and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* expression,
                              const char* message);

}  // namespace kuafu

#define KUAFU_CHECK(condition, message)              \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::kuafu::CheckFailed(__FILE__, __LINE__, #condition, (message)))

#ifdef NDEBUG
#define KUAFU_DCHECK(condition, message) \
  static_cast<void>(sizeof(static_cast<bool>(condition)) + sizeof(message))
#else
#define KUAFU_DCHECK(condition, message) KUAFU_CHECK(condition, message)
#endif
