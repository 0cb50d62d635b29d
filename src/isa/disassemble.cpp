// SPDX-License-Identifier: Apache-2.0
// The text form of a module, for people and for golden tests.
#include <cstdio>

#include "isa/isa.h"

namespace kuafu::isa {
namespace {

std::string Reg(const Function& f, uint32_t reg) {
  if (reg == kNoReg) return "_";
  for (const Constant& c : f.constants) {
    if (c.reg == reg) {
      char text[24];
      std::snprintf(text, sizeof text, "#0x%llx", static_cast<unsigned long long>(c.bits));
      return text;
    }
  }
  const bool uniform = reg < f.registers.size() && f.registers[reg].uniform;
  return (uniform ? "u" : "r") + std::to_string(reg);
}

bool IsMemory(Op op) { return op == Op::kLoad || op == Op::kStore || op == Op::kLea; }

}  // namespace

std::string DisassembleInst(const Function& f, size_t pc) {
  const Inst& i = f.code[pc];
  std::string text;
  if (i.dst != kNoReg) text += Reg(f, i.dst) + " = ";
  text += std::string(OpName(i.op)) + "." + std::string(TypeName(i.type));
  for (uint32_t r : {i.a, i.b, i.c, i.d}) {
    if (r != kNoReg) text += " " + Reg(f, r);
  }
  if (i.op == Op::kMath) {
    text += " " + std::string(MathName(static_cast<MathFn>(i.imm)));
  } else if (i.op == Op::kCondBr) {
    text += " -> " + std::to_string(i.imm) + " else " + std::to_string(i.extra);
  } else if (i.op == Op::kBr) {
    text += " -> " + std::to_string(i.imm);
  } else if (IsMemory(i.op)) {
    text += " offset " + std::to_string(i.Offset()) + " scale " + std::to_string(i.Scale());
    if (i.op != Op::kLea) {
      text += " align " + std::to_string(1u << (i.AlignLog2() & 31)) + " x" +
              std::to_string(i.Components());
    }
  } else {
    text += " imm " + std::to_string(i.imm);
    if (i.extra != 0) text += " extra " + std::to_string(i.extra);
  }
  if (i.line != 0) text += "  ; line " + std::to_string(i.line);
  return text;
}

std::string Disassemble(const Module& module) {
  std::string text = "module " + module.source_name + " arch " + std::to_string(module.arch) + "\n";
  for (const SharedVar& s : module.shared) {
    text += "shared " + s.name + " " +
            (s.dynamic ? "dynamic" : std::to_string(s.bytes) + " bytes") + "\n";
  }
  for (const Global& g : module.globals)
    text += "global " + g.name + " " + std::to_string(g.bytes) + " bytes\n";
  for (const Function& f : module.functions) {
    text += (f.is_kernel ? "kernel " : "function ") + f.pretty + " registers " +
            std::to_string(f.registers.size()) + " frame " + std::to_string(f.frame_bytes) + "\n";
    for (size_t pc = 0; pc < f.code.size(); ++pc) {
      text += "  " + std::to_string(pc) + ": " + DisassembleInst(f, pc) + "\n";
    }
  }
  return text;
}

}  // namespace kuafu::isa
