// SPDX-License-Identifier: Apache-2.0
// The two halves of a compilation, device and host: clang, then our passes and lowering, or code
// generation.
#include <llvm/ADT/SmallString.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/BuryPointer.h>
#include <llvm/Support/Path.h>

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
  return OkStatus();
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

// What a compilation leaves behind; not freed when the process ends anyway.
struct Emitted {
  explicit Emitted(bool process_ends) : leak(process_ends) {}
  ~Emitted() {
    if (!leak) return;
    llvm::BuryPointer(std::move(module));
    llvm::BuryPointer(std::move(context));
  }
  bool leak;
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module;
};

// What asking for the source brought, kept for the stages after clang.
struct Asked {
  CompileRequest request;
  Status status = OkStatus();
  int64_t start_ns = os::SystemClock().NowNs();

  void Take(CompileRequest next) {
    start_ns = os::SystemClock().NowNs();
    request = std::move(next);
    status = CheckRequest(request);
    if (!status.ok()) request.source.clear();
    request.file = CleanName(request.file);
  }
};

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
  set.torch = false;
  // A loader may include the framework's header on the candidate's behalf, so its names count too.
  for (const char* word : {"torch", "at::", "c10", "ATen", "pybind11"})
    set.torch = set.torch || request.source.find(word) != std::string::npos;
  return set;
}

Result<HalfResult> CompileDevice(const HeaderSet& set, const NextRequest& next) {
  Asked asked;
  const Paths paths = PathsOf(set);
  const auto ask = [&] {
    asked.Take(next());
    return SourceText{asked.request.file, asked.request.source};
  };
  HalfResult result;
  Emitted emitted(set.process_ends);
  emitted.module = ParseHalf(true, set, paths, ask, emitted.context.get(), &result.diagnostics);
  llvm::Module* module = emitted.module.get();
  KUAFU_TRY_STATUS(asked.status);
  if (module != nullptr) {
    RunCheckPipeline(*module);
    isa::Module lowered =
        LowerModule(*module, {&asked.request, std::string(kSourceDir) + asked.request.file},
                    &result.diagnostics);
    if (!HasError(result.diagnostics)) {
      for (isa::Function& f : lowered.functions) Cleanup(&f);
      Status valid = isa::Validate(lowered);
      if (!valid.ok())
        return Error{Code::kInternal, "klang wrote an invalid module: " + valid.error().message};
      result.bytes = isa::Write(lowered);
    }
  } else if (!HasError(result.diagnostics)) {
    return Error{Code::kInternal,
                 "clang produced no device module and no message for " + asked.request.file};
  }
  result.ok = !HasError(result.diagnostics);
  result.ms = MillisecondsSince(asked.start_ns);
  return result;
}

Result<HalfResult> CompileHost(const HeaderSet& set, const NextRequest& next) {
  Asked asked;
  const Paths paths = PathsOf(set);
  HalfResult result;
  const bool can_enter = os::FileExists(paths.include_dir + "/kuafu/entry.h");
  const auto ask = [&] {
    asked.Take(next());
    std::string text = asked.request.source;
    if (can_enter) result.entry = FindEntry(text);
    if (!result.entry.empty()) {
      text +=
          "\n#line 1 \"kuafu_entry\"\n#include <kuafu/entry.h>\nextern \"C\" void "
          "kuafu_entry(KuafuCall* c) { kuafu::Invoke(&" +
          result.entry + ", c); }\n";
    }
    return SourceText{asked.request.file, std::move(text)};
  };
  Emitted emitted(set.process_ends);
  emitted.module = ParseHalf(false, set, paths, ask, emitted.context.get(), &result.diagnostics);
  llvm::Module* module = emitted.module.get();
  KUAFU_TRY_STATUS(asked.status);
  if (module != nullptr) {
    KUAFU_TRY(result.bytes, EmitHostObject(*module));
  } else if (!HasError(result.diagnostics)) {
    return Error{Code::kInternal,
                 "clang produced no host module and no message for " + asked.request.file};
  }
  result.ok = module != nullptr;
  result.ms = MillisecondsSince(asked.start_ns);
  return result;
}

// Both passes parse the same text; what the first already said is not repeated.
void AppendDiagnostics(std::vector<Diagnostic> more, std::vector<Diagnostic>* all) {
  for (Diagnostic& d : more) {
    bool known = false;
    for (const Diagnostic& k : *all)
      known = known || (k.line == d.line && k.column == d.column && k.message == d.message);
    if (!known && all->size() < kMaxDiagnostics) all->push_back(std::move(d));
  }
}

Result<CompileResult> Compile(const CompileRequest& request) {
  KUAFU_TRY_STATUS(CheckRequest(request));
  const HeaderSet set = HeadersFor(request);
  const NextRequest next = [&] { return request; };
  CompileResult result;
  KUAFU_TRY(HalfResult device, CompileDevice(set, next));
  result.ok = device.ok;
  result.device_ms = device.ms;
  result.diagnostics = std::move(device.diagnostics);
  result.device_module = std::move(device.bytes);
  if (!result.ok || !request.host) return result;
  KUAFU_TRY(HalfResult host, CompileHost(set, next));
  AppendDiagnostics(std::move(host.diagnostics), &result.diagnostics);
  result.ok = host.ok;
  result.host_ms = host.ms;
  result.host_object = std::move(host.bytes);
  result.entry = std::move(host.entry);
  return result;
}

}  // namespace kuafu::klang
