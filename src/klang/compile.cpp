// SPDX-License-Identifier: Apache-2.0
// Runs clang in process, once for the device and once for the host. The only file that includes
// clang.
//
// clang sees the source in memory and, of the disk, only the dialect headers, its own headers and
// those of the C++ library: a candidate cannot read the machine through #include or __has_include.
#include <filesystem>
#include <mutex>

#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/SourceManager.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>

#include "klang/entry.h"
#include "klang/klang.h"
#include "klang/stages.h"
#include "os/clock.h"

namespace kuafu::klang {
namespace {

double MillisecondsSince(int64_t start_ns) {
  return static_cast<double>(os::SystemClock().NowNs() - start_ns) * 1e-6;
}

// Lets through the paths below a few prefixes and nothing else.
class PrefixFileSystem : public llvm::vfs::ProxyFileSystem {
 public:
  PrefixFileSystem(llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> fs,
                   std::vector<std::string> prefixes)
      : ProxyFileSystem(std::move(fs)), prefixes_(std::move(prefixes)) {}

  llvm::ErrorOr<llvm::vfs::Status> status(const llvm::Twine& path) override {
    if (!Allowed(path)) return std::make_error_code(std::errc::no_such_file_or_directory);
    return ProxyFileSystem::status(path);
  }
  bool exists(const llvm::Twine& path) override {
    return Allowed(path) && ProxyFileSystem::exists(path);
  }
  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(
      const llvm::Twine& path) override {
    if (!Allowed(path)) return std::make_error_code(std::errc::no_such_file_or_directory);
    return ProxyFileSystem::openFileForRead(path);
  }
  llvm::vfs::directory_iterator dir_begin(const llvm::Twine& path,
                                          std::error_code& error) override {
    if (Allowed(path)) return ProxyFileSystem::dir_begin(path, error);
    error = std::make_error_code(std::errc::no_such_file_or_directory);
    return {};
  }
  // The real directory is nobody's business: relative names mean the source's own place, where only
  // it lies.
  llvm::ErrorOr<std::string> getCurrentWorkingDirectory() const override {
    return std::string(kSourceDir);
  }
  std::error_code setCurrentWorkingDirectory(const llvm::Twine&) override { return {}; }

 private:
  bool Allowed(const llvm::Twine& path) const {
    llvm::SmallString<256> clean;
    path.toVector(clean);
    if (!llvm::sys::path::is_absolute(clean)) return false;
    llvm::sys::path::remove_dots(clean, true);
    for (const std::string& prefix : prefixes_) {
      if (clean.str().starts_with(prefix) &&
          (clean.size() == prefix.size() || clean[prefix.size()] == '/'))
        return true;
    }
    return false;
  }
  std::vector<std::string> prefixes_;
};

// "/kuafu-source/x.cu" and the like, as the user knows them.
std::string ShownPath(llvm::StringRef path) {
  if (path.starts_with(llvm::StringRef(kSourceDir))) path = path.drop_front(kSourceDir.size());
  return path.str();
}

class Collector : public clang::DiagnosticConsumer {
 public:
  Collector(const CompileRequest& request, std::vector<Diagnostic>* out)
      : request_(request), out_(out) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                        const clang::Diagnostic& info) override {
    DiagnosticConsumer::HandleDiagnostic(level, info);
    if (level == clang::DiagnosticsEngine::Ignored || level == clang::DiagnosticsEngine::Remark)
      return;
    if (out_->size() >= kMaxDiagnostics) return;
    Diagnostic d;
    d.severity = level == clang::DiagnosticsEngine::Note      ? Severity::kNote
                 : level == clang::DiagnosticsEngine::Warning ? Severity::kWarning
                                                              : Severity::kError;
    llvm::SmallString<256> text;
    info.FormatDiagnostic(text);
    d.message = text.str().str();
    if (info.getLocation().isValid() && info.hasSourceManager()) {
      const clang::SourceManager& sources = info.getSourceManager();
      const clang::PresumedLoc loc =
          sources.getPresumedLoc(sources.getExpansionLoc(info.getLocation()));
      if (loc.isValid()) {
        d.file = ShownPath(loc.getFilename());
        d.line = loc.getLine();
        d.column = loc.getColumn();
        if (d.file == request_.file) AddSnippet(request_.source, &d);
      }
    }
    out_->push_back(std::move(d));
  }

 private:
  const CompileRequest& request_;
  std::vector<Diagnostic>* out_;
};

void InitializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmParser();
    LLVMInitializeX86AsmPrinter();
  });
}

// The newest libstdc++ on this machine; its headers need no compiler of their own.
std::string LibstdcxxVersion() {
  std::string best;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/include/c++", error)) {
    const std::string name = entry.path().filename();
    if (name.size() > best.size() || (name.size() == best.size() && name > best)) best = name;
  }
  return best;
}

struct Paths {
  std::string include_dir, resource_dir = KUAFU_CLANG_RESOURCE_DIR, libstdcxx = LibstdcxxVersion();
  std::vector<std::string> user;  // from -I
  std::vector<std::string> Allowed() const {
    std::vector<std::string> all = {include_dir, resource_dir, "/usr/include"};
    all.insert(all.end(), user.begin(), user.end());
    return all;
  }
};

class Invocation {
 public:
  Invocation(const CompileRequest& request, const Paths& paths)
      : request_(request), paths_(paths) {}

  // nullptr: clang reported errors. `context` owns what the module uses.
  std::unique_ptr<llvm::Module> Run(bool device, const std::string& source,
                                    llvm::LLVMContext* context,
                                    std::vector<Diagnostic>* diagnostics) {
    const std::vector<std::string> args = Arguments(device);
    std::vector<const char*> argv;
    for (const std::string& a : args) argv.push_back(a.c_str());

    auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
    memory->addFile(SourcePath(), 0, llvm::MemoryBuffer::getMemBuffer(source, SourcePath()));
    auto disk = llvm::makeIntrusiveRefCnt<PrefixFileSystem>(llvm::vfs::createPhysicalFileSystem(),
                                                            paths_.Allowed());
    auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(disk);
    overlay->pushOverlay(memory);
    overlay->setCurrentWorkingDirectory(std::string(kSourceDir));
    // The overlay stops at the disk, where no such directory is; without one `-include` crashes
    // clang.
    memory->setCurrentWorkingDirectory(std::string(kSourceDir));

    clang::CompilerInstance compiler;
    Collector collector(request_, diagnostics);
    compiler.createDiagnostics(&collector, /*ShouldOwnClient=*/false);
    auto invocation = std::make_shared<clang::CompilerInvocation>();
    if (!clang::CompilerInvocation::CreateFromArgs(*invocation, argv, compiler.getDiagnostics()))
      return nullptr;
    compiler.setInvocation(std::move(invocation));
    compiler.createDiagnostics(&collector, /*ShouldOwnClient=*/false);
    compiler.createFileManager(overlay);
    compiler.createSourceManager(compiler.getFileManager());
    clang::EmitLLVMOnlyAction action(context);
    if (!compiler.ExecuteAction(action) || collector.getNumErrors() > 0) return nullptr;
    return action.takeModule();
  }

  std::string SourcePath() const { return std::string(kSourceDir) + request_.file; }

 private:
  std::vector<std::string> Arguments(bool device) const {
    const char* gpu = "nvptx64-nvidia-cuda";
    const char* cpu = "x86_64-pc-linux-gnu";
    std::vector<std::string> a = {"-triple", device ? gpu : cpu, "-aux-triple", device ? cpu : gpu};
    const auto add = [&](std::initializer_list<std::string> list) { a.insert(a.end(), list); };
    if (device) {
      // sm_90 whatever the target: availability of an operation is the profile's business, not
      // clang's.
      add({"-fcuda-is-device", "-target-cpu", "sm_90", "-target-feature", "+ptx83",
           "-fcuda-allow-variadic-functions", "-disable-llvm-passes", "-ffp-contract=fast",
           "-debug-info-kind=line-tables-only", "-dwarf-version=4", "-fno-threadsafe-statics"});
    } else {
      add({"-target-cpu", "x86-64", "-mrelocation-model", "pic", "-pic-level", "2",
           "-mframe-pointer=none"});
    }
    // Exceptions on both passes: the device pass parses host functions that throw.
    add({"-fexceptions",
         "-fcxx-exceptions",
         "-emit-llvm-only",
         "-O1",
         "-std=c++17",
         "-target-sdk-version=12.4",
         "-fgnuc-version=4.2.1",
         "-fdeprecated-macro",
         "-ferror-limit",
         "20",
         "-fno-caret-diagnostics",
         "-Wno-unused-value",
         "-fmacro-prefix-map=" + std::string(kSourceDir) + "=",
         "-main-file-name",
         request_.file,
         "-resource-dir",
         paths_.resource_dir,
         "-nostdsysteminc",
         "-ftemplate-depth=512",
         "-fconstexpr-steps=1048576",
         "-fbracket-depth",
         "256"});
    // The target's version. clang defines __CUDA_ARCH__ itself from -target-cpu, hence the pair.
    const std::string arch = std::to_string(request_.arch);
    if (request_.dialect == Dialect::kMusa) {
      add({"-D__MUSACC__=1", "-D__MUSA__=1", "-DKUAFU_MUSA=1"});
      if (device) add({"-U__CUDA_ARCH__", "-D__MUSA_ARCH__=" + arch});
    } else {
      add({"-D__CUDACC__=1", "-D__NVCC__=1"});
      if (device && request_.arch != 900) add({"-U__CUDA_ARCH__", "-D__CUDA_ARCH__=" + arch});
    }
    add({"-DKUAFU=1", "-D__CUDACC_VER_MAJOR__=12", "-D__CUDACC_VER_MINOR__=4"});
    a.insert(a.end(), request_.extra_args.begin(), request_.extra_args.end());
    const std::string& inc = paths_.include_dir;
    for (const char* sub : {"/", "/cuda", "/musa", "/torch"}) add({"-internal-isystem", inc + sub});
    const std::string& v = paths_.libstdcxx;
    if (!v.empty()) {
      add({"-internal-isystem", "/usr/include/c++/" + v, "-internal-isystem",
           "/usr/include/x86_64-linux-gnu/c++/" + v, "-internal-isystem",
           "/usr/include/c++/" + v + "/backward"});
    }
    add({"-internal-isystem", paths_.resource_dir + "/include", "-internal-externc-isystem",
         "/usr/include/x86_64-linux-gnu", "-internal-externc-isystem", "/usr/include"});
    std::error_code error;
    if (std::filesystem::exists(inc + "/kuafu/prelude.h", error))
      add({"-include", "kuafu/prelude.h"});
    add({"-x", "cuda", SourcePath()});
    return a;
  }

  const CompileRequest& request_;
  const Paths& paths_;
};

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

// Both passes parse the same text; what the first already said is not repeated.
void Append(std::vector<Diagnostic> more, std::vector<Diagnostic>* all) {
  for (Diagnostic& d : more) {
    bool known = false;
    for (const Diagnostic& k : *all)
      known = known || (k.line == d.line && k.column == d.column && k.message == d.message);
    if (!known && all->size() < kMaxDiagnostics) all->push_back(std::move(d));
  }
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

Result<CompileResult> Compile(const CompileRequest& original) {
  KUAFU_TRY_STATUS(CheckRequest(original));
  InitializeTargets();
  CompileRequest request = original;
  request.file = CleanName(original.file);
  Paths paths;
  paths.include_dir = request.include_dir.empty() ? KUAFU_INCLUDE_DIR : request.include_dir;
  for (const std::string& arg : request.extra_args) {
    if (arg.starts_with("-I")) paths.user.push_back(arg.substr(2));
  }
  Invocation invocation(request, paths);
  CompileResult result;

  const int64_t start = os::SystemClock().NowNs();
  {
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module =
        invocation.Run(true, request.source, &context, &result.diagnostics);
    if (module != nullptr) {
      RunCheckPipeline(*module);
      isa::Module lowered =
          LowerModule(*module, {&request, invocation.SourcePath()}, &result.diagnostics);
      if (!HasError(result.diagnostics)) {
        for (isa::Function& f : lowered.functions) Cleanup(&f);
        Status valid = isa::Validate(lowered);
        if (!valid.ok())
          return Error{Code::kInternal, "klang wrote an invalid module: " + valid.error().message};
        result.device_module = isa::Write(lowered);
      }
    } else if (!HasError(result.diagnostics)) {
      return Error{Code::kInternal,
                   "clang produced no device module and no message for " + request.file};
    }
  }
  result.device_ms = MillisecondsSince(start);
  result.ok = !HasError(result.diagnostics);
  if (!result.ok || !request.host) return result;

  const int64_t host_start = os::SystemClock().NowNs();
  std::error_code error;
  std::string source = request.source;
  if (std::filesystem::exists(paths.include_dir + "/kuafu/entry.h", error))
    result.entry = FindEntry(source);
  if (!result.entry.empty()) {
    source +=
        "\n#line 1 \"kuafu_entry\"\n#include <kuafu/entry.h>\nextern \"C\" void "
        "kuafu_entry(KuafuCall* c) { "
        "kuafu::Invoke(&" +
        result.entry + ", c); }\n";
  }
  llvm::LLVMContext context;
  std::vector<Diagnostic> diagnostics;
  std::unique_ptr<llvm::Module> module = invocation.Run(false, source, &context, &diagnostics);
  const bool host_ok = module != nullptr;
  Append(std::move(diagnostics), &result.diagnostics);
  if (host_ok) {
    KUAFU_TRY(result.host_object, EmitHostObject(*module));
  } else if (!HasError(result.diagnostics)) {
    return Error{Code::kInternal,
                 "clang produced no host module and no message for " + request.file};
  }
  result.ok = host_ok;
  result.host_ms = MillisecondsSince(host_start);
  return result;
}

}  // namespace kuafu::klang
