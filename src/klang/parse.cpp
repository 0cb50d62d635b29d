// SPDX-License-Identifier: Apache-2.0
// Runs clang in process over one half of a source. The only file that includes clang.
//
// clang sees, of the disk, only the dialect headers, its own headers and those of the C++ library:
// a candidate cannot read the machine through #include or __has_include.
//
// Before the source stands a stub of ours with the headers that every candidate needs, either as
// text or, for servers, as a precompiled header that clang reads from memory.
#include "klang/parse.h"

#include <filesystem>
#include <mutex>

#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Basic/Version.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Sema/Sema.h>
#include <clang/Serialization/ASTWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>

namespace kuafu::klang {
namespace {

constexpr std::string_view kStubPath = "/kuafu-stub.h";
constexpr std::string_view kHeadersPath = "/kuafu-stub.pch";
constexpr std::string_view kBeforePath = "/kuafu-before.h";

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

// Names as the user knows them: "x.cu" for "/kuafu-source/x.cu", "kuafu/half.h", "vector".
std::string ShownPath(const Paths& paths, llvm::StringRef path) {
  if (path.consume_front(llvm::StringRef(kSourceDir))) return path.str();
  const std::string v = paths.libstdcxx;
  const std::string roots[] = {paths.include_dir + "/cuda/",
                               paths.include_dir + "/musa/",
                               paths.include_dir + "/torch/",
                               paths.include_dir + "/",
                               paths.resource_dir + "/include/",
                               "/usr/include/c++/" + v + "/",
                               "/usr/include/x86_64-linux-gnu/c++/" + v + "/",
                               "/usr/include/x86_64-linux-gnu/",
                               "/usr/include/"};
  for (const std::string& root : roots) {
    if (path.consume_front(root)) break;
  }
  while (path.consume_front("/")) {
  }
  return path.str();
}

class Collector : public clang::DiagnosticConsumer {
 public:
  Collector(const ParseInput& input, std::vector<Diagnostic>* out) : input_(input), out_(out) {}

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
        d.file = ShownPath(input_.paths, loc.getFilename());
        d.line = loc.getLine();
        d.column = loc.getColumn();
        if (d.file == input_.file) AddSnippet(input_.text, &d);
      }
    }
    out_->push_back(std::move(d));
  }

 private:
  const ParseInput& input_;
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

// Grants access to a private member, which an explicit instantiation may name.
template <auto kMember>
struct Expose {
  friend auto& DeclsWithDeferredDiagnostics(clang::Sema& sema) { return sema.*kMember; }
};
auto& DeclsWithDeferredDiagnostics(clang::Sema& sema);
template struct Expose<&clang::Sema::DeclsToCheckForDeferredDiags>;

class WriteHeaders : public clang::PCHGenerator {
 public:
  WriteHeaders(clang::CompilerInstance& compiler, std::shared_ptr<clang::PCHBuffer> buffer)
      : PCHGenerator(compiler.getPreprocessor(), compiler.getModuleCache(), "", "",
                     std::move(buffer), {}),
        compiler_(compiler) {}

  void HandleTranslationUnit(clang::ASTContext& context) override {
    // Every function in the list would be read again by each source that uses the headers, half of
    // all there is: 15 of 18 ms for an empty source. It only holds functions of the headers, which
    // have nothing to report by themselves; what a source calls is checked from the source on.
    DeclsWithDeferredDiagnostics(compiler_.getSema()).clear();
    PCHGenerator::HandleTranslationUnit(context);
  }

 private:
  clang::CompilerInstance& compiler_;
};

class PrecompileAction : public clang::ASTFrontendAction {
 public:
  explicit PrecompileAction(std::shared_ptr<clang::PCHBuffer> buffer)
      : buffer_(std::move(buffer)) {}

 protected:
  clang::TranslationUnitKind getTranslationUnitKind() override { return clang::TU_Prefix; }
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef) override {
    return std::make_unique<WriteHeaders>(compiler, buffer_);
  }

 private:
  std::shared_ptr<clang::PCHBuffer> buffer_;
};

std::string StubText(bool device, const HeaderSet& set, const Paths& paths) {
  std::string text;
  std::error_code error;
  if (std::filesystem::exists(paths.include_dir + "/kuafu/prelude.h", error)) {
    if (!set.torch) text += "#define KUAFU_NO_TORCH 1\n";
    text += "#include <kuafu/prelude.h>\n";
    if (set.torch) {
      // What the framework's own header brings along.
      for (const char* header :
           {"torch/extension.h", "algorithm", "array", "cassert", "cmath", "cstdint", "cstdio",
            "cstring", "functional", "limits", "map", "memory", "numeric", "ostream", "sstream",
            "unordered_map"})
        text += "#include <" + std::string(header) + ">\n";
      if (!device && std::filesystem::exists(paths.include_dir + "/kuafu/entry.h", error))
        text += "#include <kuafu/entry.h>\n";
    }
  }
  return text;
}

std::vector<std::string> Arguments(bool device, const HeaderSet& set, const Paths& paths) {
  const char* gpu = "nvptx64-nvidia-cuda";
  const char* cpu = "x86_64-pc-linux-gnu";
  std::vector<std::string> a = {"-triple", device ? gpu : cpu, "-aux-triple", device ? cpu : gpu};
  const auto add = [&](std::initializer_list<std::string> list) { a.insert(a.end(), list); };
  if (device) {
    // sm_90 whatever the target: availability of an operation is the profile's business, not
    // clang's.
    // -funroll-loops: at -O1 clang forbids the unrolling of every loop in its metadata.
    add({"-fcuda-is-device", "-target-cpu", "sm_90", "-target-feature", "+ptx83",
         "-fcuda-allow-variadic-functions", "-O1", "-disable-llvm-passes", "-funroll-loops",
         "-ffp-contract=fast", "-debug-info-kind=line-tables-only", "-dwarf-version=4",
         "-fno-threadsafe-statics"});
  } else {
    add({"-target-cpu", "x86-64", "-mrelocation-model", "pic", "-pic-level", "2",
         "-mframe-pointer=none", "-O0", "-disable-O0-optnone", "-disable-llvm-passes"});
  }
  // Exceptions on both passes: the device pass parses host functions that throw.
  add({"-fexceptions", "-fcxx-exceptions", "-disable-llvm-verifier", "-std=c++17",
       "-target-sdk-version=12.4", "-fgnuc-version=4.2.1", "-fdeprecated-macro", "-ferror-limit",
       "20", "-fno-caret-diagnostics", "-Wno-unused-value",
       "-fmacro-prefix-map=" + std::string(kSourceDir) + "=", "-resource-dir", paths.resource_dir,
       "-nostdsysteminc", "-ftemplate-depth=512", "-fconstexpr-steps=1048576", "-fbracket-depth",
       "256"});
  // The target's version. clang defines __CUDA_ARCH__ itself from -target-cpu, hence the pair.
  const std::string arch = std::to_string(set.arch);
  if (set.dialect == Dialect::kMusa) {
    add({"-D__MUSACC__=1", "-D__MUSA__=1", "-DKUAFU_MUSA=1"});
    if (device) add({"-U__CUDA_ARCH__", "-D__MUSA_ARCH__=" + arch});
  } else {
    add({"-D__CUDACC__=1", "-D__NVCC__=1"});
    if (device && set.arch != 900) add({"-U__CUDA_ARCH__", "-D__CUDA_ARCH__=" + arch});
  }
  add({"-DKUAFU=1", "-D__CUDACC_VER_MAJOR__=12", "-D__CUDACC_VER_MINOR__=4"});
  a.insert(a.end(), set.extra_args.begin(), set.extra_args.end());
  const std::string& inc = paths.include_dir;
  for (const char* sub : {"/", "/cuda", "/musa", "/torch"}) add({"-internal-isystem", inc + sub});
  const std::string& v = paths.libstdcxx;
  if (!v.empty()) {
    add({"-internal-isystem", "/usr/include/c++/" + v, "-internal-isystem",
         "/usr/include/x86_64-linux-gnu/c++/" + v, "-internal-isystem",
         "/usr/include/c++/" + v + "/backward"});
  }
  add({"-internal-isystem", paths.resource_dir + "/include", "-internal-externc-isystem",
       "/usr/include/x86_64-linux-gnu", "-internal-externc-isystem", "/usr/include"});
  return a;
}

// A compiler over the files that `input` may see; false when the arguments are refused.
bool Prepare(const ParseInput& input, const std::vector<std::string>& more, Collector* collector,
             clang::CompilerInstance* compiler) {
  InitializeTargets();
  const bool device = input.half == Half::kDevice;
  std::vector<std::string> args = Arguments(device, input.set, input.paths);
  args.insert(args.end(), more.begin(), more.end());
  std::vector<const char*> argv;
  for (const std::string& a : args) argv.push_back(a.c_str());

  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  const std::string stub = StubText(device, input.set, input.paths);
  memory->addFile(kStubPath, 0, llvm::MemoryBuffer::getMemBufferCopy(stub, kStubPath));
  const llvm::StringRef headers(reinterpret_cast<const char*>(input.headers.data()),
                                input.headers.size());
  memory->addFile(kHeadersPath, 0, llvm::MemoryBuffer::getMemBuffer(headers, kHeadersPath, false));
  memory->addFile(kBeforePath, 0, llvm::MemoryBuffer::getMemBuffer(input.before, kBeforePath));
  const std::string source = std::string(kSourceDir) + input.file;
  memory->addFile(source, 0, llvm::MemoryBuffer::getMemBuffer(input.text, source));
  auto disk = llvm::makeIntrusiveRefCnt<PrefixFileSystem>(llvm::vfs::createPhysicalFileSystem(),
                                                          input.paths.Allowed());
  auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(disk);
  overlay->pushOverlay(memory);
  overlay->setCurrentWorkingDirectory(std::string(kSourceDir));

  compiler->createDiagnostics(collector, /*ShouldOwnClient=*/false);
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, argv, compiler->getDiagnostics()))
    return false;
  compiler->setInvocation(std::move(invocation));
  compiler->createDiagnostics(collector, /*ShouldOwnClient=*/false);
  compiler->createFileManager(overlay);
  compiler->createSourceManager(compiler->getFileManager());
  return true;
}

}  // namespace

std::string LibstdcxxVersion() {
  std::string best;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/include/c++", error)) {
    const std::string name = entry.path().filename();
    if (name.size() > best.size() || (name.size() == best.size() && name > best)) best = name;
  }
  return best;
}

std::unique_ptr<llvm::Module> ParseHalf(const ParseInput& input, llvm::LLVMContext* context,
                                        std::vector<Diagnostic>* diagnostics) {
  clang::CompilerInstance compiler;
  Collector collector(input, diagnostics);
  const bool precompiled = !input.headers.empty();
  std::vector<std::string> more = {precompiled ? "-include-pch" : "-include",
                                   std::string(precompiled ? kHeadersPath : kStubPath)};
  if (!input.before.empty()) more.insert(more.end(), {"-include", std::string(kBeforePath)});
  more.insert(more.end(), {"-emit-llvm-only", "-main-file-name", input.file, "-x", "cuda",
                           std::string(kSourceDir) + input.file});
  // All our headers are system headers to clang, which it trusts otherwise.
  if (input.check_headers) more.insert(more.begin(), "-fmodules-validate-system-headers");
  if (!Prepare(input, more, &collector, &compiler)) return nullptr;
  clang::EmitLLVMOnlyAction action(context);
  if (!compiler.ExecuteAction(action) || collector.getNumErrors() != 0) return nullptr;
  return action.takeModule();
}

std::string DescribeHeaders(const ParseInput& input) {
  const bool device = input.half == Half::kDevice;
  std::string text = clang::getClangFullVersion() + "\n" + StubText(device, input.set, input.paths);
  for (const std::string& a : Arguments(device, input.set, input.paths)) text += "\n" + a;
  return text;
}

std::vector<uint8_t> Precompile(const ParseInput& input, std::vector<Diagnostic>* diagnostics) {
  clang::CompilerInstance compiler;
  Collector collector(input, diagnostics);
  // Templates that the headers use would otherwise be instantiated once per source.
  if (!Prepare(input,
               {"-emit-pch", "-fpch-instantiate-templates", "-x", "cuda", std::string(kStubPath)},
               &collector, &compiler))
    return {};
  auto buffer = std::make_shared<clang::PCHBuffer>();
  PrecompileAction action(buffer);
  if (!compiler.ExecuteAction(action) || collector.getNumErrors() != 0) return {};
  return {buffer->Data.begin(), buffer->Data.end()};
}

}  // namespace kuafu::klang
