// SPDX-License-Identifier: Apache-2.0
// The two halves of a compilation, device and host: clang, then our passes and lowering, or code
// generation.
#include <llvm/ADT/SmallString.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Path.h>

#include "base/hash.h"
#include "klang/entry.h"
#include "klang/klang.h"
#include "klang/parse.h"
#include "klang/stages.h"
#include "os/clock.h"
#include "os/file.h"

namespace kuafu::klang {
namespace {

double MillisecondsSince(int64_t start_ns) {
  return static_cast<double>(os::SystemClock().NowNs() - start_ns) * 1e-6;
}

Status CheckRequest(const CompileRequest& r) {
  if (r.source.size() > kMaxSourceBytes) {
    return Error{Code::kInvalidInput, "compiling a source of " + std::to_string(r.source.size()) +
                                          " bytes: the limit is " +
                                          std::to_string(kMaxSourceBytes)};
  }
  if (r.file.empty() || r.file.size() > 1024 || r.file.find('\0') != std::string::npos) {
    return Error{Code::kInvalidInput, "compiling: the file name must have 1 to 1024 characters"};
  }
  for (const std::string& arg : r.extra_args) {
    if (arg.size() < 3 || arg[0] != '-' || (arg[1] != 'D' && arg[1] != 'U' && arg[1] != 'I')) {
      return Error{Code::kInvalidInput,
                   "compiler argument '" + arg + "': only -Dname, -Uname and -Idir are accepted"};
    }
  }
  return CheckDefines(r.defines);
}

// The name clang shows: relative and without dots, so that it lies below kSourceDir.
std::string CleanName(const std::string& file) {
  llvm::SmallString<256> clean(file);
  llvm::sys::path::remove_dots(clean, true);
  llvm::StringRef name = clean.str();
  while (name.consume_front("../") || name.consume_front("/")) {
  }
  return name.empty() || name == ".." ? "kernel.cu" : name.str();
}

bool HasError(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& d : diagnostics) {
    if (d.severity == Severity::kError) return true;
  }
  return false;
}

Paths PathsOf(const HeaderSet& set) {
  Paths paths;
  paths.include_dir = set.include_dir.empty() ? KUAFU_INCLUDE_DIR : set.include_dir;
  for (const std::string& arg : set.extra_args) {
    if (arg.starts_with("-I")) paths.user.push_back(arg.substr(2));
  }
  return paths;
}

ParseInput InputFor(Half half, const HeaderSet& set) {
  ParseInput input;
  input.half = half;
  input.set = set;
  input.paths = PathsOf(set);
  return input;
}

Status LowerDevice(llvm::Module& module, const CompileRequest& request, HalfResult* result) {
  RunCheckPipeline(module);
  isa::Module lowered =
      LowerModule(module, {&request, std::string(kSourceDir) + request.file}, &result->diagnostics);
  if (HasError(result->diagnostics)) return OkStatus();
  for (isa::Function& f : lowered.functions) Cleanup(&f);
  Status valid = isa::Validate(lowered);
  if (!valid.ok())
    return Error{Code::kInternal, "klang wrote an invalid module: " + valid.error().message};
  result->bytes = isa::Write(lowered);
  return OkStatus();
}

// Adds the function that the runner calls.
void AppendEntry(const std::string& entry, std::string* text) {
  *text +=
      "\n#line 1 \"kuafu_entry\"\n#include <kuafu/entry.h>\nextern \"C\" void "
      "kuafu_entry(KuafuCall* c) { kuafu::Invoke(&" +
      entry + ", c); }\n";
}

}  // namespace

std::string Diagnostic::ToString() const {
  const char* kind = severity == Severity::kError     ? "error"
                     : severity == Severity::kWarning ? "warning"
                                                      : "note";
  std::string text = file;
  if (line != 0) text += ":" + std::to_string(line) + ":" + std::to_string(column);
  if (!text.empty()) text += ": ";
  text += std::string(kind) + ": " + message;
  if (!snippet.empty()) text += "\n" + snippet;
  return text;
}

void AddSnippet(std::string_view source, Diagnostic* d) {
  if (d->line == 0) return;
  size_t begin = 0;
  for (uint32_t n = 1; n < d->line; ++n) {
    begin = source.find('\n', begin);
    if (begin == std::string_view::npos) return;
    ++begin;
  }
  std::string_view line = source.substr(begin, source.find('\n', begin) - begin);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.empty() || line.size() > 400) return;
  d->snippet = std::string(line) + "\n";
  for (uint32_t c = 1; c < d->column && c <= line.size(); ++c)
    d->snippet += line[c - 1] == '\t' ? '\t' : ' ';
  d->snippet += '^';
}

HeaderSet HeadersFor(const CompileRequest& request) {
  HeaderSet set;
  set.dialect = request.dialect;
  set.arch = request.arch;
  set.include_dir = request.include_dir;
  set.extra_args = request.extra_args;
  set.torch = request.unit.has_value();
  // A loader may include the framework's header on the candidate's behalf, so its names count too.
  for (const char* word : {"torch", "at::", "c10", "ATen", "pybind11"})
    set.torch = set.torch || request.source.find(word) != std::string::npos;
  return set;
}

Result<std::vector<uint8_t>> PrecompileHeaders(Half half, const HeaderSet& set) {
  std::vector<Diagnostic> diagnostics;
  std::vector<uint8_t> bytes = Precompile(InputFor(half, set), &diagnostics);
  if (!bytes.empty()) return bytes;
  return Error{Code::kInternal,
               "the dialect headers do not compile: " +
                   (diagnostics.empty() ? "no message" : diagnostics[0].ToString())};
}

std::string HeadersName(Half half, const HeaderSet& set) {
  return HashHex(DescribeHeaders(InputFor(half, set)));
}

bool HeadersAreCurrent(Half half, const HeaderSet& set, std::span<const uint8_t> headers) {
  ParseInput input = InputFor(half, set);
  input.file = "empty.cu";
  input.headers = headers;
  input.check_headers = true;
  llvm::LLVMContext context;
  std::vector<Diagnostic> diagnostics;
  return ParseHalf(input, &context, &diagnostics) != nullptr;
}

Result<HalfResult> CompileHalf(Half half, const CompileRequest& original,
                               std::span<const uint8_t> headers) {
  const int64_t start_ns = os::SystemClock().NowNs();
  KUAFU_TRY_STATUS(CheckRequest(original));
  CompileRequest request = original;
  request.file = CleanName(request.file);
  ParseInput input = InputFor(half, HeadersFor(request));
  input.file = request.file;
  input.text = request.source;
  input.before = TextBeforeSource(request);
  input.headers = headers;
  HalfResult result;
  if (half == Half::kHost && !request.unit &&
      os::FileExists(input.paths.include_dir + "/kuafu/entry.h")) {
    result.entry = FindEntry(request.source);
    if (!result.entry.empty()) AppendEntry(result.entry, &input.text);
  }
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = ParseHalf(input, &context, &result.diagnostics);
  if (module == nullptr && !HasError(result.diagnostics)) {
    return Error{Code::kInternal, "clang produced no module and no message for " + request.file};
  }
  if (module != nullptr && half == Half::kDevice) {
    KUAFU_TRY_STATUS(LowerDevice(*module, request, &result));
  } else if (module != nullptr) {
    KUAFU_TRY(result.bytes, EmitHostObject(*module, request.unit));
    if (!request.unit) {
      const UnitObject object{request.file, result.bytes};
      KUAFU_TRY(result.bytes, LinkLibrary({&object, 1}, Symbols::kLoader));
    }
  }
  result.ok = !HasError(result.diagnostics);
  result.ms = MillisecondsSince(start_ns);
  return result;
}

// Both passes parse the same text; what the first already said is not repeated.
void AppendDiagnostics(std::vector<Diagnostic> more, std::vector<Diagnostic>* all) {
  for (Diagnostic& d : more) {
    bool known = false;
    for (const Diagnostic& k : *all)
      known = known || (k.line == d.line && k.column == d.column && k.file == d.file &&
                        k.message == d.message);
    if (!known && all->size() < kMaxDiagnostics) all->push_back(std::move(d));
  }
}

Result<CompileResult> Compile(const CompileRequest& request,
                              std::span<const uint8_t> device_headers,
                              std::span<const uint8_t> host_headers) {
  CompileResult result;
  KUAFU_TRY(HalfResult device, CompileHalf(Half::kDevice, request, device_headers));
  result.ok = device.ok;
  result.device_ms = device.ms;
  result.diagnostics = std::move(device.diagnostics);
  result.device_module = std::move(device.bytes);
  if (!result.ok || !request.host) return result;
  KUAFU_TRY(HalfResult host, CompileHalf(Half::kHost, request, host_headers));
  AppendDiagnostics(std::move(host.diagnostics), &result.diagnostics);
  result.ok = host.ok;
  result.host_ms = host.ms;
  result.host_library = std::move(host.bytes);
  result.entry = std::move(host.entry);
  return result;
}

}  // namespace kuafu::klang
