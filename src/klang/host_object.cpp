// SPDX-License-Identifier: Apache-2.0
// Host code generation. clang registers kernels only when a fatbin is embedded, and we have none;
// instead the object exports two tables that the runner reads: `kuafu_kernels` (stub address,
// kernel name) with `kuafu_kernel_count`, and `kuafu_symbols` (shadow address, name, bytes) with
// `kuafu_symbol_count`. A unit of an extension keeps its tables to itself and puts one row that
// points to them into the section `kuafu_unit_rows`; the first unit, which the linker places first,
// names the array that they become.
#include <cctype>
#include <string>

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "klang/stages.h"

namespace kuafu::klang {
namespace {

constexpr llvm::StringLiteral kStub = "__device_stub__";

// `_Z19__device_stub__vaddPf` is the stub of `_Z4vaddPf`; for extern "C" the name follows the
// prefix. The digits before the prefix may begin with the end of another name, as in a namespace m1
// (`_ZN2m119__device_stub__vaddE...`), so the right ones are those that demangle to the same
// function.
std::string KernelName(llvm::StringRef stub) {
  const size_t at = stub.find(kStub);
  if (at == llvm::StringRef::npos) return {};
  const llvm::StringRef base = stub.drop_front(at + kStub.size());
  std::string wanted = llvm::demangle(stub.str());
  const size_t in_wanted = wanted.find(kStub);
  if (in_wanted == std::string::npos) return base.str();
  wanted.erase(in_wanted, kStub.size());
  for (size_t digits = at; digits > 0; --digits) {
    if (std::isdigit(static_cast<unsigned char>(stub[digits - 1])) == 0) break;
    unsigned length = 0;
    if (stub.slice(digits - 1, at).getAsInteger(10, length) || length <= kStub.size()) continue;
    std::string name =
        (stub.take_front(digits - 1) + std::to_string(length - kStub.size()) + base).str();
    if (llvm::demangle(name) == wanted) return name;
  }
  return base.str();
}

llvm::Constant* CString(llvm::Module& module, llvm::StringRef text) {
  llvm::Constant* data = llvm::ConstantDataArray::getString(module.getContext(), text);
  return new llvm::GlobalVariable(module, data->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                  data, "kuafu.name");
}

using Linkage = llvm::GlobalValue::LinkageTypes;

llvm::GlobalVariable* AddConstant(llvm::Module& module, llvm::Constant* value, Linkage linkage,
                                  const char* name) {
  return new llvm::GlobalVariable(module, value->getType(), true, linkage, value, name);
}

llvm::Constant* Rows(llvm::StructType* type, llvm::ArrayRef<llvm::Constant*> rows) {
  return llvm::ConstantArray::get(llvm::ArrayType::get(type, rows.size()), rows);
}

void AddUnitRow(llvm::Module& module, const UnitPlace& unit, llvm::Constant* kernels,
                size_t kernel_count, llvm::Constant* symbols, size_t symbol_count) {
  auto* i64 = llvm::Type::getInt64Ty(module.getContext());
  const auto number = [&](uint64_t n) { return llvm::ConstantInt::get(i64, n); };
  const Linkage local = Linkage::InternalLinkage;
  llvm::Constant* row = llvm::ConstantStruct::getAnon(
      {number(static_cast<uint64_t>(unit.index)),
       AddConstant(module, kernels, local, "kuafu.kernels"), number(kernel_count),
       AddConstant(module, symbols, local, "kuafu.symbols"), number(symbol_count)});
  const bool first = unit.index == 0;
  llvm::GlobalVariable* place = AddConstant(module, row, first ? Linkage::ExternalLinkage : local,
                                            first ? "kuafu_units" : "kuafu.unit");
  place->setSection("kuafu_unit_rows");
  place->setAlignment(llvm::Align(8));
  llvm::appendToUsed(module, {place});
  if (first) {
    AddConstant(module, number(static_cast<uint64_t>(unit.count)), Linkage::ExternalLinkage,
                "kuafu_unit_count");
  }
}

void AddTables(llvm::Module& module, const std::optional<UnitPlace>& unit) {
  auto* ptr = llvm::PointerType::getUnqual(module.getContext());
  auto* i64 = llvm::Type::getInt64Ty(module.getContext());
  auto* kernel_type = llvm::StructType::get(ptr, ptr);
  auto* symbol_type = llvm::StructType::get(ptr, ptr, i64);
  std::vector<llvm::Constant*> kernels, symbols;
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    const std::string name = KernelName(f.getName());
    if (!name.empty())
      kernels.push_back(llvm::ConstantStruct::get(kernel_type, {&f, CString(module, name)}));
  }
  std::vector<llvm::GlobalVariable*> shadows;
  for (llvm::GlobalVariable& g : module.globals()) {
    // clang gives the host shadow of a device variable an undefined initialiser; nothing else has
    // one.
    if (g.hasInitializer() && llvm::isa<llvm::UndefValue>(g.getInitializer()) && !g.isConstant())
      shadows.push_back(&g);
  }
  for (llvm::GlobalVariable* g : shadows) {
    // As with the vendor's compiler, each unit has its own variable of that name.
    if (unit && !g->hasComdat()) g->setLinkage(Linkage::InternalLinkage);
    const uint64_t bytes = module.getDataLayout().getTypeAllocSize(g->getValueType());
    symbols.push_back(llvm::ConstantStruct::get(
        symbol_type, {g, CString(module, g->getName()), llvm::ConstantInt::get(i64, bytes)}));
  }
  llvm::Constant* kernel_rows = Rows(kernel_type, kernels);
  llvm::Constant* symbol_rows = Rows(symbol_type, symbols);
  if (unit) {
    AddUnitRow(module, *unit, kernel_rows, kernels.size(), symbol_rows, symbols.size());
    return;
  }
  const Linkage exported = Linkage::ExternalLinkage;
  AddConstant(module, kernel_rows, exported, "kuafu_kernels");
  AddConstant(module, llvm::ConstantInt::get(i64, kernels.size()), exported, "kuafu_kernel_count");
  AddConstant(module, symbol_rows, exported, "kuafu_symbols");
  AddConstant(module, llvm::ConstantInt::get(i64, symbols.size()), exported, "kuafu_symbol_count");
}

// Static destructors register themselves with this name's address. The C start-up files define it,
// and the object is linked without them.
void DefineDsoHandle(llvm::Module& module) {
  llvm::GlobalVariable* handle = module.getNamedGlobal("__dso_handle");
  if (handle == nullptr || handle->hasInitializer()) return;
  handle->setInitializer(llvm::Constant::getNullValue(handle->getValueType()));
  handle->setLinkage(llvm::GlobalValue::WeakODRLinkage);  // an extension has several units
  handle->setVisibility(llvm::GlobalValue::HiddenVisibility);
}

// The assembler opens files by itself (.incbin, .include) and knows macros that hide such a word.
bool IsHarmlessAssembly(llvm::StringRef text) {
  for (size_t at = text.find('.'); at != llvm::StringRef::npos; at = text.find('.', at + 1)) {
    const llvm::StringRef word = text.drop_front(at + 1).take_while(
        [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
    if (word != "globl" && word != "global" && word != "weak" && word != "hidden") return false;
  }
  return true;
}

Status CheckAssembly(const llvm::Module& module) {
  bool harmless = IsHarmlessAssembly(module.getModuleInlineAsm());
  for (const llvm::Function& f : module) {
    for (const llvm::Instruction& i : llvm::instructions(f)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
      if (call == nullptr || !call->isInlineAsm()) continue;
      const auto* assembly = llvm::cast<llvm::InlineAsm>(call->getCalledOperand());
      harmless = harmless && IsHarmlessAssembly(assembly->getAsmString());
    }
  }
  if (harmless) return OkStatus();
  return Error{Code::kInvalidInput,
               "host code with an assembler directive (a word that begins with a dot): only "
               "instructions are accepted, remove the directive"};
}

}  // namespace

Result<std::vector<uint8_t>> EmitHostObject(llvm::Module& module,
                                            const std::optional<UnitPlace>& unit) {
  KUAFU_TRY_STATUS(CheckAssembly(module));
  AddTables(module, unit);
  DefineDsoHandle(module);
  std::string message;
  const llvm::Target* target =
      llvm::TargetRegistry::lookupTarget(module.getTargetTriple(), message);
  if (target == nullptr) return Error{Code::kUnavailable, "generating host code: " + message};
  llvm::TargetOptions options;
  options.UseInitArray = true;  // the linker does not know the older .ctors
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(module.getTargetTriple(), "x86-64", "", options,
                                  llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::None));
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  // The standard library has always_inline functions that it does not export.
  passes.add(llvm::createAlwaysInlinerLegacyPass(/*InsertLifetime=*/false));
  if (machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    return Error{Code::kInternal, "generating host code: this LLVM cannot write ELF objects"};
  }
  passes.run(module);
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

}  // namespace kuafu::klang
