// SPDX-License-Identifier: Apache-2.0
// How the files of this module export the runtime API, and the helpers they share.
#pragma once

#include <cstddef>

#define KUAFU_EXPORT extern "C" __attribute__((visibility("default")))
// Defines cuda<Name> and its musa<Name> twin: the two APIs differ in spelling alone.
#define KUAFU_API(ret, name, params)                                       \
  KUAFU_EXPORT ret musa##name params __attribute__((alias("cuda" #name))); \
  KUAFU_EXPORT ret cuda##name params

#pragma GCC diagnostic ignored "-Wattribute-alias"

namespace kuafu::hostabi {

// Remembers the error for cudaGetLastError and returns it.
int Fail(int error);
inline constexpr int kConstantBytes = 64 << 10;
// False, with a finding, if the range starts in a device allocation and leaves it. Host memory is
// not known and passes.
bool InsideAllocation(const void* p, size_t bytes);
// A copy between any two places, done when it returns. Bytes that were never written stay so.
int Copy(void* dst, const void* src, size_t bytes);
// The error of a cudaMemcpyKind that is none, or that contradicts the addresses.
int CheckDirection(const void* dst, const void* src, int kind);
int CopyInStream(void* dst, const void* src, size_t bytes, void* stream);
int Fill(void* dst, int value, size_t bytes, void* stream = nullptr);
int Allocate(void** out, size_t bytes, const char* name);

}  // namespace kuafu::hostabi
