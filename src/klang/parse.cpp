// SPDX-License-Identifier: Apache-2.0
// Runs clang in process over one half of a source. The only file that includes clang.
//
// clang sees, of the disk, only the dialect headers, its own headers and those of the C++ library:
// a candidate cannot read the machine through #include or __has_include.
//
// What clang compiles is a stub of ours: the headers that every candidate needs, then a pragma.
// Where clang meets the pragma we ask for the source and enter it as if it had been included. A
// server asks in a forked child: the headers, 95 % of the time, are then parsed once per server,
// without the load time and the lazy deserialisation of a precompiled header.
#include "klang/parse.h"

#include <filesystem>
#include <mutex>

#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/SourceManager.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Lex/HeaderSearch.h>
#include <clang/Lex/Pragma.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Sema/Sema.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/BuryPointer.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>

namespace kuafu::klang {
namespace {

constexpr std::string_view kStubPath = "/kuafu-stub";
constexpr llvm::StringLiteral kPragma = "kuafu_source";

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
  Collector(const Paths& paths, std::vector<Diagnostic>* out) : paths_(paths), out_(out) {}
  // Borrowed; from here on messages show lines of it.
  void SetSource(const SourceText* source) { source_ = source; }

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
        d.file = ShownPath(paths_, loc.getFilename());
        d.line = loc.getLine();
        d.column = loc.getColumn();
        if (source_ != nullptr && d.file == source_->file) AddSnippet(source_->text, &d);
      }
    }
    out_->push_back(std::move(d));
  }

 private:
  const Paths& paths_;
  std::vector<Diagnostic>* out_;
  const SourceText* source_ = nullptr;
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

// A child that made clang's table of function types grow would rehash, and so copy, all of it: a
// fifth of its page faults. This makes it grow here, once, with types that no source has.
void GrowFunctionTypes(clang::ASTContext& context) {
  constexpr size_t kBucketsMin = 64;  // of llvm::FoldingSet, which holds two entries a bucket
  size_t types = 0;
  for (const clang::Type* type : context.getTypes())
    types += llvm::isa<clang::FunctionProtoType>(type) ? 1 : 0;
  size_t capacity = 2 * kBucketsMin;
  while (capacity < types) capacity *= 2;
  const clang::QualType scalars[] = {context.BoolTy,   context.CharTy,  context.ShortTy,
                                     context.IntTy,    context.LongTy,  context.FloatTy,
                                     context.DoubleTy, context.Int128Ty};
  for (size_t i = 0; i < capacity - types + kBucketsMin; ++i) {
    llvm::SmallVector<clang::QualType, 16> parameters(9, context.Int128Ty);
    for (size_t rest = i; rest > 0; rest /= std::size(scalars))
      parameters.push_back(scalars[rest % std::size(scalars)]);
    context.getFunctionType(context.Int128Ty, parameters, {});
  }
}

// Enters the source where the stub asks for it.
class SourcePragma : public clang::PragmaHandler {
 public:
  SourcePragma(clang::CompilerInstance* compiler, Collector* collector, const NextSource* next)
      : PragmaHandler(kPragma), compiler_(compiler), collector_(collector), next_(next) {}

  void HandlePragma(clang::Preprocessor& pp, clang::PragmaIntroducer introducer,
                    clang::Token&) override {
    pp.DiscardUntilEndOfDirective();
    if (entered_) return;  // the source's own text has no use for it
    entered_ = true;
    // Templates that the headers use would otherwise be instantiated at the end, once per source.
    if (compiler_->hasSema()) {
      compiler_->getSema().PerformPendingInstantiations();
      GrowFunctionTypes(compiler_->getASTContext());
    }
    text_ = (*next_)();
    collector_->SetSource(&text_);
    clang::SourceManager& sources = compiler_->getSourceManager();
    const std::string path = std::string(kSourceDir) + text_.file;
    const clang::FileEntryRef file = compiler_->getFileManager().getVirtualFileRef(
        path, static_cast<off_t>(text_.text.size()), 0);
    sources.overrideFileContents(file, llvm::MemoryBuffer::getMemBuffer(text_.text, path));
    // As an include does; without it the search for a header that is missing crashes.
    pp.getHeaderSearchInfo().getFileInfo(file);
    pp.markIncluded(file);
    const clang::FileID id = sources.createFileID(file, introducer.Loc, clang::SrcMgr::C_User);
    pp.EnterSourceFile(id, nullptr, introducer.Loc);
  }

 private:
  clang::CompilerInstance* compiler_;
  Collector* collector_;
  const NextSource* next_;
  SourceText text_;
  bool entered_ = false;
};

class EmitModule : public clang::EmitLLVMOnlyAction {
 public:
  EmitModule(llvm::LLVMContext* context, Collector* collector, const NextSource* next)
      : EmitLLVMOnlyAction(context), collector_(collector), next_(next) {}

 protected:
  bool BeginSourceFileAction(clang::CompilerInstance& compiler) override {
    // Owned by the preprocessor.
    compiler.getPreprocessor().AddPragmaHandler(new SourcePragma(&compiler, collector_, next_));
    return EmitLLVMOnlyAction::BeginSourceFileAction(compiler);
  }

 private:
  Collector* collector_;
  const NextSource* next_;
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
           {"torch/extension.h", "algorithm", "array", "cassert", "cstdint", "cstdio", "cstring",
            "functional", "limits", "map", "memory", "numeric", "unordered_map"})
        text += "#include <" + std::string(header) + ">\n";
      if (!device && std::filesystem::exists(paths.include_dir + "/kuafu/entry.h", error))
        text += "#include <kuafu/entry.h>\n";
    }
  }
  // The semicolon ends the last declaration before the source is asked for.
  return text + ";\n#pragma " + std::string(kPragma) + "\n";
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
         "-mframe-pointer=none", "-O0", "-disable-O0-optnone"});
  }
  // Exceptions on both passes: the device pass parses host functions that throw.
  add({"-fexceptions", "-fcxx-exceptions", "-emit-llvm-only", "-std=c++17",
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
  add({"-x", "cuda", std::string(kStubPath)});
  if (set.process_ends) a.insert(a.end() - 3, "-disable-free");
  return a;
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

std::unique_ptr<llvm::Module> ParseHalf(bool device, const HeaderSet& set, const Paths& paths,
                                        const NextSource& next, llvm::LLVMContext* context,
                                        std::vector<Diagnostic>* diagnostics) {
  InitializeTargets();
  const std::vector<std::string> args = Arguments(device, set, paths);
  std::vector<const char*> argv;
  for (const std::string& a : args) argv.push_back(a.c_str());

  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  memory->addFile(kStubPath, 0,
                  llvm::MemoryBuffer::getMemBufferCopy(StubText(device, set, paths), kStubPath));
  auto disk = llvm::makeIntrusiveRefCnt<PrefixFileSystem>(llvm::vfs::createPhysicalFileSystem(),
                                                          paths.Allowed());
  auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(disk);
  overlay->pushOverlay(memory);
  overlay->setCurrentWorkingDirectory(std::string(kSourceDir));

  auto owner = std::make_unique<clang::CompilerInstance>();
  clang::CompilerInstance& compiler = *owner;
  Collector collector(paths, diagnostics);
  compiler.createDiagnostics(&collector, /*ShouldOwnClient=*/false);
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, argv, compiler.getDiagnostics()))
    return nullptr;
  compiler.setInvocation(std::move(invocation));
  compiler.createDiagnostics(&collector, /*ShouldOwnClient=*/false);
  compiler.createFileManager(overlay);
  compiler.createSourceManager(compiler.getFileManager());
  EmitModule action(context, &collector, &next);
  std::unique_ptr<llvm::Module> module;
  if (compiler.ExecuteAction(action) && collector.getNumErrors() == 0) module = action.takeModule();
  // Freeing the parsed headers costs more than compiling a kernel.
  if (set.process_ends) llvm::BuryPointer(std::move(owner));
  return module;
}

}  // namespace kuafu::klang
