// SPDX-License-Identifier: Apache-2.0
// The kernel-language compiler: CUDA C++ or MUSA C++ source text in, a device module (isa.h) and a
// host library out. clang 19 is used as a library; no vendor SDK is needed because the dialect
// headers are ours.
//
//   klang::CompileRequest request{.source = text, .file = "softmax.cu"};
//   KUAFU_TRY(klang::CompileResult result, klang::Compile(request));
//   if (!result.ok) Print(result.diagnostics);      // the candidate's fault: a value, not an error
//
// A pathological source can still crash or stall clang, so hostile input belongs in a worker
// process.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kuafu::klang {

enum class Dialect : uint8_t { kCuda, kMusa };
enum class Severity : uint8_t { kNote, kWarning, kError };

// A translation unit of an extension: `.cu` and `.cpp` files that become one library.
struct UnitPlace {
  int64_t index = 0, count = 1;  // among the units, in the order in which they are linked
  bool device = true;            // false: plain C++, with a host half only
};

struct CompileRequest {
  std::string source;              // the whole text; at most kMaxSourceBytes
  std::string file = "kernel.cu";  // name shown in messages; no such file is opened
  Dialect dialect = Dialect::kCuda;
  uint32_t arch = 900;                  // 900 = sm_90; 210, 220, 310 = mp_21, mp_22, mp_31
  std::vector<std::string> extra_args;  // -D, -U and -I only
  std::string include_dir;              // dialect headers; empty = the one found at build time
  bool host = true;                     // compile the host half too
  std::vector<std::string> defines;     // NAME or NAME=VALUE, for the source and not for headers
  std::optional<UnitPlace> unit;        // none: a candidate that stands alone
};

struct Diagnostic {
  Severity severity = Severity::kError;
  std::string file;
  uint32_t line = 0, column = 0;  // from 1; 0 = unknown
  std::string message;
  std::string snippet;  // the source line and, below it, a caret

  // "file:line:column: error: message" followed by the snippet.
  std::string ToString() const;
};

struct CompileResult {
  bool ok = false;                      // no error among the diagnostics
  std::vector<Diagnostic> diagnostics;  // in the order clang gave them
  std::vector<uint8_t> device_module;   // isa::Write
  std::vector<uint8_t> host_library;    // ELF shared object, x86-64
  std::string entry;                    // host function behind kuafu_entry; empty = none found
  double device_ms = 0, host_ms = 0;
};

inline constexpr size_t kMaxSourceBytes = 4u << 20;
inline constexpr size_t kMaxDiagnostics = 64;

// Which headers stand before the source. What a source may see without including it depends on
// what the vendor's compiler and the framework's header bring.
struct HeaderSet {
  Dialect dialect = Dialect::kCuda;
  uint32_t arch = 900;  // of the device half; the host half is the same for all
  bool torch = true;    // the tensor interface and half; otherwise CUDA's or MUSA's own names only
  std::string include_dir;
  std::vector<std::string> extra_args;
  bool operator==(const HeaderSet&) const = default;
};
HeaderSet HeadersFor(const CompileRequest& request);

enum class Half : uint8_t { kDevice, kHost };

// The headers of `set` as clang's precompiled header, 10 MiB. Parsing them is nearly all the work
// in compiling a kernel, so a server does it once.
Result<std::vector<uint8_t>> PrecompileHeaders(Half half, const HeaderSet& set);
// A file name for them: other options, another clang, other headers in the set give another name.
std::string HeadersName(Half half, const HeaderSet& set);
// Whether what was kept under that name still stands for the header files as they are now.
bool HeadersAreCurrent(Half half, const HeaderSet& set, std::span<const uint8_t> headers);

struct HalfResult {
  bool ok = false;
  std::vector<Diagnostic> diagnostics;
  std::vector<uint8_t> bytes;  // CompileResult::device_module or host_library; of a unit: an object
  std::string entry;           // host only
  double ms = 0;
};

// One half. `headers`: what PrecompileHeaders gave for HeadersFor(request), borrowed for the call;
// empty = they are parsed again. The result does not depend on which.
Result<HalfResult> CompileHalf(Half half, const CompileRequest& request,
                               std::span<const uint8_t> headers = {});
struct UnitObject {
  std::string_view file;           // for messages
  std::span<const uint8_t> bytes;  // the host half of a unit
};
// One shared object of all units, in their order. It exports
//   int64_t kuafu_unit_count;
//   struct { int64_t unit_index; const KernelRow* kernels; int64_t kernel_count;
//            const SymbolRow* symbols; int64_t symbol_count; } kuafu_units[];
// with rows as in kuafu_kernels and kuafu_symbols (host_object.cpp), and kuafu_extension if a unit
// has a PYBIND11_MODULE. What neither a unit nor the runner nor the system's libraries define is in
// the diagnostics.
Result<HalfResult> LinkUnits(std::span<const UnitObject> units,
                             const std::string& include_dir = {});

// Adds what the other half has not said yet.
void AppendDiagnostics(std::vector<Diagnostic> more, std::vector<Diagnostic>* all);

// Both halves, one after the other. An Error means that the request itself is unusable or that this
// installation is broken; whatever is wrong with the source comes back in the diagnostics. Safe to
// call from several threads. Headers as for CompileHalf.
Result<CompileResult> Compile(const CompileRequest& request,
                              std::span<const uint8_t> device_headers = {},
                              std::span<const uint8_t> host_headers = {});

}  // namespace kuafu::klang
