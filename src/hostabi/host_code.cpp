// SPDX-License-Identifier: Apache-2.0
// The tables that the compiler put into the shared object: `kuafu_kernels` and `kuafu_symbols` of a
// single source, `kuafu_units` of several.
#include "hostabi/host_code.h"

#include <dlfcn.h>

#include <cstdint>
#include <span>
#include <string>

namespace kuafu::hostabi {
namespace {

struct UnitRow {
  int64_t unit;
  const KernelEntry* kernels;
  int64_t kernel_count;
  const SymbolEntry* symbols;
  int64_t symbol_count;
};

// Empty when absent.
template <class Row>
std::span<const Row> Table(void* library, const char* rows, const char* count) {
  const auto* first = static_cast<const Row*>(dlsym(library, rows));
  const auto* n = static_cast<const uint64_t*>(dlsym(library, count));
  if (first == nullptr || n == nullptr) return {};
  return {first, static_cast<size_t>(*n)};
}

Result<void*> Open(const char* path, int flags) {
  void* library = dlopen(path, flags);
  if (library == nullptr)
    return Error{Code::kInvalidInput, std::string("loading the host code: ") + dlerror()};
  return library;
}

}  // namespace

Result<void*> LoadHostCode(Session& session, const char* path) {
  KUAFU_TRY(void* library, Open(path, RTLD_NOW | RTLD_GLOBAL));
  session.RegisterKernels(Table<KernelEntry>(library, "kuafu_kernels", "kuafu_kernel_count"), 0);
  session.RegisterSymbols(Table<SymbolEntry>(library, "kuafu_symbols", "kuafu_symbol_count"), 0);
  return library;
}

Result<void*> LoadUnits(Session& session, const char* path, const std::vector<size_t>& modules) {
  // Local: extensions of one program have functions of the same name.
  KUAFU_TRY(void* library, Open(path, RTLD_NOW | RTLD_LOCAL));
  for (const UnitRow& row : Table<UnitRow>(library, "kuafu_units", "kuafu_unit_count")) {
    if (row.unit < 0 || static_cast<size_t>(row.unit) >= modules.size()) {
      return Error{Code::kCorrupt, "loading the host code: it has a unit " +
                                       std::to_string(row.unit) + ", but there are " +
                                       std::to_string(modules.size())};
    }
    const size_t module = modules[static_cast<size_t>(row.unit)];
    if (row.kernel_count > 0)
      session.RegisterKernels({row.kernels, static_cast<size_t>(row.kernel_count)}, module);
    if (row.symbol_count > 0)
      session.RegisterSymbols({row.symbols, static_cast<size_t>(row.symbol_count)}, module);
  }
  return library;
}

}  // namespace kuafu::hostabi
