// SPDX-License-Identifier: Apache-2.0
// What is particular to the translation units of an extension: the text before their source, and
// the library that they become. An undefined symbol is found here, where it can be named, and not
// when the library is loaded.
#include <dlfcn.h>

#include <cctype>
#include <set>
#include <string>

#include <llvm/Demangle/Demangle.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/Error.h>

#include "base/text.h"
#include "klang/stages.h"
#include "os/clock.h"
#include "os/file.h"

namespace kuafu::klang {
namespace {

constexpr int64_t kHeaderBytesMax = 1 << 20;
constexpr size_t kUndefinedMax = 16;  // so many are named

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view NameOf(std::string_view define) { return define.substr(0, define.find('=')); }

// Every word of the text that an opening parenthesis follows.
void AddCalled(std::string_view text, std::set<std::string, std::less<>>* names) {
  for (size_t at = text.find('('); at != std::string_view::npos; at = text.find('(', at + 1)) {
    size_t begin = at;
    while (begin > 0 && IsWord(text[begin - 1])) --begin;
    if (begin < at) names->emplace(text.substr(begin, at - begin));
    if (begin < at || at == 0 || text[at - 1] != ')') continue;
    // RT(Malloc)( is cudaMalloc and musaMalloc.
    const size_t open = text.rfind("RT(", at);
    if (open == std::string_view::npos) continue;
    const std::string_view name = text.substr(open + 3, at - open - 4);
    if (std::all_of(name.begin(), name.end(), IsWord)) {
      names->insert("cuda" + std::string(name));
      names->insert("musa" + std::string(name));
    }
  }
}

// What the runner exports stands in these headers.
std::set<std::string, std::less<>> RunnerFunctions(const std::string& include_dir) {
  std::set<std::string, std::less<>> names = {"__cudaPopCallConfiguration"};
  for (const char* header : {"base.h", "runtime_api.h", "runtime_api.inc", "tensor_abi.h"}) {
    const Result<std::string> text =
        os::ReadFile(include_dir + "/kuafu/" + header, kHeaderBytesMax);
    if (text.ok()) AddCalled(text.value(), &names);
  }
  return names;
}

llvm::StringRef AsText(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The names of undefined symbols that must have a definition.
Result<std::vector<std::string>> Undefined(std::span<const uint8_t> bytes, bool dynamic) {
  llvm::Expected<llvm::object::ELF64LEObjectFile> file =
      llvm::object::ELF64LEObjectFile::create(llvm::MemoryBufferRef(AsText(bytes), "library"));
  if (!file) return Error{Code::kInternal, "reading an object: " + toString(file.takeError())};
  std::vector<std::string> names;
  const auto symbols = dynamic ? file->getDynamicSymbolIterators() : file->symbols();
  for (const llvm::object::ELFSymbolRef symbol : symbols) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!flags || !name) {
      llvm::consumeError(flags.takeError());
      llvm::consumeError(name.takeError());
      return Error{Code::kInternal, "reading an object: a symbol is damaged"};
    }
    const bool undefined = (*flags & llvm::object::SymbolRef::SF_Undefined) != 0;
    const bool weak = (*flags & llvm::object::SymbolRef::SF_Weak) != 0;
    if (undefined && !weak && !name->empty()) names.push_back(name->str());
  }
  return names;
}

// The first unit that asks for the symbol.
std::string_view UnitOf(const std::string& symbol, std::span<const UnitObject> units) {
  for (const UnitObject& unit : units) {
    const Result<std::vector<std::string>> names = Undefined(unit.bytes, false);
    if (!names.ok()) continue;
    for (const std::string& name : names.value()) {
      if (name == symbol) return unit.file;
    }
  }
  return {};
}

}  // namespace

Status CheckDefines(std::span<const std::string> defines) {
  for (const std::string& define : defines) {
    const std::string_view name = NameOf(define);
    bool ok = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
              name != "defined" &&
              define.find_first_of(std::string_view("\n\r\\\0", 4)) == define.npos;
    for (const char c : name) ok = ok && IsWord(c);
    if (!ok) {
      return Error{Code::kInvalidInput,
                   "macro definition '" + define + "': must be NAME or NAME=VALUE on one line"};
    }
  }
  return OkStatus();
}

std::string TextBeforeSource(const CompileRequest& request) {
  std::string text;
  if (request.unit) {
    text += "#define KUAFU_EXTENSION_UNIT 1\n";
    for (const char* name :
         {"PYBIND11_MODULE", "TORCH_LIBRARY", "TORCH_LIBRARY_FRAGMENT", "TORCH_LIBRARY_IMPL"}) {
      text += std::string("#undef ") + name + "\n#define " + name + " KUAFU_" + name + "\n";
    }
    // A C++ compiler knows no kernels.
    if (!request.unit->device) {
      text +=
          "#undef __CUDACC__\n#undef __NVCC__\n#undef __MUSACC__\n#undef __global__\n"
          "#undef __shared__\n";
    }
  }
  for (const std::string& define : request.defines) {
    const std::string_view name = NameOf(define);
    const std::string value = name.size() == define.size() ? "1" : define.substr(name.size() + 1);
    text += "#undef " + std::string(name) + "\n#define " + std::string(name) + " " + value + "\n";
  }
  return text;
}

Result<HalfResult> LinkUnits(std::span<const UnitObject> units, const std::string& include_dir) {
  const int64_t start_ns = os::SystemClock().NowNs();
  static const std::set<std::string, std::less<>> runner =
      RunnerFunctions(include_dir.empty() ? KUAFU_INCLUDE_DIR : include_dir);
  HalfResult result;
  KUAFU_TRY(result.bytes, LinkLibrary(units, Symbols::kOwn));
  KUAFU_TRY(const std::vector<std::string> undefined, Undefined(result.bytes, true));
  for (const std::string& name : undefined) {
    // The libraries of the system are those that this process uses itself.
    if (runner.contains(name) || dlsym(RTLD_DEFAULT, name.c_str()) != nullptr) continue;
    if (result.diagnostics.size() >= kUndefinedMax) break;
    Diagnostic d;
    d.file = UnitOf(name, units);
    d.message = "undefined symbol: " + llvm::demangle(name);
    result.diagnostics.push_back(std::move(d));
  }
  result.ok = result.diagnostics.empty();
  result.ms = static_cast<double>(os::SystemClock().NowNs() - start_ns) / os::kNsPerMs;
  return result;
}

}  // namespace kuafu::klang
