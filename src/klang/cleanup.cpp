// SPDX-License-Identifier: Apache-2.0
// The last step on a function's bytecode: computations whose results nobody reads, branches to the
// next instruction and registers that are left without a use go away. Memory accesses always stay.
#include <vector>

#include "klang/stages.h"

namespace kuafu::klang {
namespace {

using isa::Inst;
using isa::kNoReg;
using isa::Op;

constexpr int kMaxRounds = 16;

bool IsPure(Op op) {
  return op < Op::kSpecial || op == Op::kSpecial || op == Op::kLea || op == Op::kProvOf ||
         (op >= Op::kParamAddr && op <= Op::kFuncAddr);
}

// Calls use(register&) for everything an instruction reads.
template <class Use>
void ForEachUse(isa::Function& f, Inst& i, Use use) {
  for (uint32_t* reg : {&i.a, &i.b, &i.c}) {
    if (*reg != kNoReg) use(*reg);
  }
  if (i.d != kNoReg) use(i.d);
  if (i.op == Op::kMemCopyDyn || i.op == Op::kAssertFail) use(i.extra);
  const bool call = i.op == Op::kCall || i.op == Op::kCallIndirect;
  if (call || (i.op == Op::kRet && !f.is_kernel)) {
    for (uint32_t n = 0; n < f.operands[i.extra]; ++n) use(f.operands[i.extra + 1 + n]);
  }
}

uint32_t DstCount(const isa::Function& f, const Inst& i) {
  if (i.dst == kNoReg) return 0;
  if (i.op == Op::kLoad) return i.Components();
  if (i.op == Op::kCall || i.op == Op::kCallIndirect)
    return f.operands[i.extra + 1 + f.operands[i.extra]];
  return 1;
}

std::vector<bool> UsedRegisters(isa::Function& f, const std::vector<bool>& dead) {
  std::vector<bool> used(f.registers.size());
  for (size_t pc = 0; pc < f.code.size(); ++pc) {
    if (dead[pc]) continue;
    Inst& i = f.code[pc];
    ForEachUse(f, i, [&](uint32_t& reg) { used[reg] = true; });
    for (uint32_t n = 1; i.op == Op::kStore && n < i.Components(); ++n) used[i.d + n] = true;
  }
  return used;
}

void RemoveDead(isa::Function& f) {
  std::vector<bool> dead(f.code.size());
  bool changed = true;
  for (int round = 0; changed && round < kMaxRounds; ++round) {
    changed = false;
    const std::vector<bool> used = UsedRegisters(f, dead);
    for (size_t pc = 0; pc < f.code.size(); ++pc) {
      const Inst& i = f.code[pc];
      if (dead[pc] || i.dst == kNoReg || used[i.dst] || !IsPure(i.op)) continue;
      dead[pc] = true;
      changed = true;
    }
  }
  // A branch that skips only removed instructions falls through.
  for (size_t pc = f.code.size(); pc-- > 0;) {
    const Inst& i = f.code[pc];
    if (dead[pc] || i.op != Op::kBr || i.imm <= static_cast<int64_t>(pc)) continue;
    bool empty = true;
    for (size_t n = pc + 1; empty && n < static_cast<size_t>(i.imm); ++n) empty = dead[n];
    if (empty) dead[pc] = true;
  }
  std::vector<uint32_t> moved(f.code.size() + 1);
  std::vector<Inst> code;
  for (size_t pc = 0; pc < f.code.size(); ++pc) {
    moved[pc] = static_cast<uint32_t>(code.size());
    if (!dead[pc]) code.push_back(f.code[pc]);
  }
  for (Inst& i : code) {
    if (i.op == Op::kBr || i.op == Op::kCondBr) i.imm = moved[static_cast<size_t>(i.imm)];
    if (i.op == Op::kCondBr) i.extra = moved[i.extra];
  }
  f.code = std::move(code);
}

// Keeps the order, so that runs of consecutive registers stay consecutive.
void RenumberRegisters(isa::Function& f) {
  std::vector<bool> keep = UsedRegisters(f, std::vector<bool>(f.code.size()));
  for (const Inst& i : f.code) {
    for (uint32_t n = 0; n < DstCount(f, i); ++n) keep[i.dst + n] = true;
  }
  for (uint32_t reg : f.param_regs) keep[reg] = true;
  for (const isa::Param& p : f.params) {
    if (p.reg != kNoReg) keep[p.reg] = true;
    if (p.prov_reg != kNoReg) keep[p.prov_reg] = true;
  }
  std::vector<uint32_t> moved(f.registers.size(), kNoReg);
  std::vector<isa::Register> registers;
  for (size_t reg = 0; reg < keep.size(); ++reg) {
    if (!keep[reg]) continue;
    moved[reg] = static_cast<uint32_t>(registers.size());
    registers.push_back(f.registers[reg]);
  }
  for (Inst& i : f.code) {
    ForEachUse(f, i, [&](uint32_t& reg) { reg = moved[reg]; });
    if (i.dst != kNoReg) i.dst = moved[i.dst];
  }
  for (uint32_t& reg : f.param_regs) reg = moved[reg];
  for (isa::Param& p : f.params) {
    if (p.reg != kNoReg) p.reg = moved[p.reg];
    if (p.prov_reg != kNoReg) p.prov_reg = moved[p.prov_reg];
  }
  std::vector<isa::Constant> constants;
  for (const isa::Constant& c : f.constants) {
    if (moved[c.reg] != kNoReg) constants.push_back({moved[c.reg], c.bits});
  }
  f.constants = std::move(constants);
  f.registers = std::move(registers);
}

}  // namespace

void Cleanup(isa::Function* function) {
  RemoveDead(*function);
  RenumberRegisters(*function);
}

}  // namespace kuafu::klang
