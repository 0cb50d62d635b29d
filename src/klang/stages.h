// SPDX-License-Identifier: Apache-2.0
// The stages behind Compile, so that clang, LLVM's passes and the lowering are compiled apart: a
// file that includes clang costs 10-20 s.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/isa.h"
#include "klang/klang.h"

namespace llvm {
class Module;
}

namespace kuafu::klang {

// Directory under which clang sees the source; taken off again wherever a name is shown.
inline constexpr std::string_view kSourceDir = "/kuafu-source/";

// Optimisation of device code that cannot hide a defect; see passes.cpp.
void RunCheckPipeline(llvm::Module& module);

struct LowerInput {
  const CompileRequest* request = nullptr;  // borrowed, lives as long as the call
  std::string user_path;                    // the source as debug information names it
};
// LLVM IR to bytecode. What bytecode cannot express is appended to diagnostics; then the module is
// unusable.
isa::Module LowerModule(llvm::Module& module, const LowerInput& input,
                        std::vector<Diagnostic>* diagnostics);

// Removes what a lowered function does not need; its code must be valid.
void Cleanup(isa::Function* function);

// Fills Diagnostic::snippet from the source text.
void AddSnippet(std::string_view source, Diagnostic* diagnostic);

// Adds the kernel and symbol tables, then generates code.
Result<std::vector<uint8_t>> EmitHostObject(llvm::Module& module,
                                            const std::optional<UnitPlace>& unit);

// Whose definition counts where both the library and the program that loads it have one.
enum class Symbols : uint8_t { kLoader, kOwn };
// A shared library of these. What is undefined stays undefined: the program that loads the library
// provides it. Standard output goes elsewhere meanwhile.
Result<std::vector<uint8_t>> LinkLibrary(std::span<const UnitObject> objects, Symbols symbols);

// Source text that stands between the headers and a request's source; a Status says what is wrong
// with its defines.
Status CheckDefines(std::span<const std::string> defines);
std::string TextBeforeSource(const CompileRequest& request);

}  // namespace kuafu::klang
