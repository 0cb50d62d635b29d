// SPDX-License-Identifier: Apache-2.0
// Loading a module: its globals get memory and addresses, its instructions are decoded once.
#include <algorithm>
#include <cstring>

#include "simt/engine.h"

namespace kuafu::simt {

Program::Program() = default;

Result<std::unique_ptr<Program>> Program::Load(Memory& memory, isa::Module module) {
  std::unique_ptr<Program> program(new Program());
  program->memory_ = &memory;
  program->decoded_ = std::make_unique<DModule>();
  program->shadow_ = std::make_unique<GlobalShadow>();
  DModule& decoded = *program->decoded_;
  decoded.module = std::move(module);
  const isa::Module& m = decoded.module;
  for (const isa::Global& g : m.globals) {
    size_t align = std::clamp<size_t>(g.align, 1, 4096);
    auto got = memory.Allocate(g.bytes, align, g.name, true);
    if (!got.ok()) return std::move(got).error();
    decoded.global_address.push_back(reinterpret_cast<uint64_t>(got.value()));
    if (!g.init.empty())
      std::memcpy(got.value(), g.init.data(), std::min<size_t>(g.init.size(), g.bytes));
  }
  for (size_t i = 0; i < m.globals.size(); ++i) {
    for (const isa::Relocation& r : m.globals[i].relocations) {
      if (m.globals[i].bytes < 8 || r.offset > m.globals[i].bytes - 8 ||
          r.index >= (r.is_function ? m.functions.size() : m.globals.size())) {
        return Error{Code::kCorrupt, "loading " + m.globals[i].name + ": relocation at byte " +
                                         std::to_string(r.offset) +
                                         " is outside the variable or names nothing"};
      }
      uint64_t value =
          r.is_function ? isa::kFunctionAddressTag | r.index : decoded.global_address[r.index];
      value += static_cast<uint64_t>(r.addend);
      std::memcpy(reinterpret_cast<void*>(decoded.global_address[i] + r.offset), &value, 8);
    }
  }
  decoded.functions.resize(m.functions.size());
  for (size_t i = 0; i < m.functions.size(); ++i) {
    DFunction& fn = decoded.functions[i];
    fn.source = &m.functions[i];
    fn.code.reserve(fn.source->code.size());
    for (const isa::Inst& inst : fn.source->code) fn.code.push_back(Decode(*fn.source, inst));
  }
  Analyse(decoded);
  return program;
}

Program::~Program() {
  if (decoded_ == nullptr) return;
  for (uint64_t address : decoded_->global_address) {
    Status freed = memory_->Free(reinterpret_cast<void*>(address));
    (void)freed;  // the host cannot have freed it: it never got it from an allocation
  }
}

const isa::Module& Program::module() const { return decoded_->module; }

int Program::KernelIndex(std::string_view name) const {
  const auto& functions = decoded_->module.functions;
  for (size_t i = 0; i < functions.size(); ++i) {
    if (functions[i].is_kernel && functions[i].name == name) return static_cast<int>(i);
  }
  for (size_t i = 0; i < functions.size(); ++i) {
    const std::string& pretty = functions[i].pretty;
    if (functions[i].is_kernel && (pretty == name || pretty.substr(0, pretty.find('(')) == name))
      return static_cast<int>(i);
  }
  return -1;
}

void* Program::GlobalAddress(std::string_view name, size_t* bytes) const {
  for (size_t i = 0; i < decoded_->module.globals.size(); ++i) {
    if (decoded_->module.globals[i].name != name) continue;
    if (bytes != nullptr) *bytes = decoded_->module.globals[i].bytes;
    return reinterpret_cast<void*>(decoded_->global_address[i]);
  }
  return nullptr;
}

}  // namespace kuafu::simt
