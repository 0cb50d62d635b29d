// SPDX-License-Identifier: Apache-2.0
// What of a module can be known before any launch: lane functions, and for each kernel what it and
// its callees may do.
#include <algorithm>
#include <bit>

#include "simt/engine.h"

namespace kuafu::simt {
namespace {

using isa::Op;

// Local memory a lane needs from here down; *exact = false: unknown (recursion, indirect calls).
uint64_t StackNeed(const isa::Module& module, uint32_t index, std::vector<int64_t>& memo,
                   bool* exact) {
  if (memo[index] >= 0) return static_cast<uint64_t>(memo[index]);
  if (memo[index] == -2) {
    *exact = false;
    return 0;
  }
  memo[index] = -2;
  uint64_t deepest = 0;
  for (const isa::Inst& inst : module.functions[index].code) {
    if (inst.op == Op::kCallIndirect) *exact = false;
    if (inst.op != Op::kCall) continue;
    deepest = std::max(deepest, StackNeed(module, static_cast<uint32_t>(inst.imm), memo, exact));
  }
  memo[index] = static_cast<int64_t>(((module.functions[index].frame_bytes + 15) & ~15u) + deepest);
  return static_cast<uint64_t>(memo[index]);
}

// Functions that calls from here may reach; an indirect call may reach any.
std::vector<uint32_t> Reachable(const isa::Module& module, uint32_t kernel) {
  std::vector<uint32_t> list = {kernel};
  std::vector<uint8_t> seen(module.functions.size(), 0);
  seen[kernel] = 1;
  auto add = [&](size_t index) {
    if (!seen[index]) list.push_back(static_cast<uint32_t>(index));
    seen[index] = 1;
  };
  for (size_t i = 0; i < list.size(); ++i) {
    for (const isa::Inst& inst : module.functions[list[i]].code) {
      if (inst.op == Op::kCall) add(static_cast<size_t>(inst.imm));
      if (inst.op == Op::kCallIndirect)
        for (size_t k = 0; k < module.functions.size(); ++k) add(k);
    }
  }
  return list;
}

// Whether a pointer with this provenance register can point to shared memory.
bool MayBeShared(const isa::Function& fn, uint32_t reg) {
  if (reg == isa::kNoReg) return false;
  for (const isa::Constant& c : fn.constants) {
    if (c.reg == reg) return (c.bits & isa::kProvShared) != 0;
  }
  return std::none_of(fn.params.begin(), fn.params.end(),
                      [&](const isa::Param& p) { return p.prov_reg == reg; });
}

int SharedGranuleLog2(const isa::Function& fn) {
  int granule = 2;
  for (const isa::Inst& inst : fn.code) {
    const auto bytes = static_cast<unsigned>(isa::TypeBytes(inst.type));
    switch (inst.op) {
      case Op::kLoad:
      case Op::kStore: {
        bool shared = inst.MemSpace() == isa::Space::kShared || MayBeShared(fn, inst.c);
        unsigned size = bytes * std::max(inst.Components(), 1u);
        if (shared)
          granule = std::min({granule, std::countr_zero(size), static_cast<int>(inst.AlignLog2())});
        break;
      }
      case Op::kAtomicRmw:
      case Op::kAtomicCas:
      case Op::kAtomicLoad:
      case Op::kAtomicStore:
        if (MayBeShared(fn, inst.c)) granule = std::min(granule, std::countr_zero(bytes));
        break;
      case Op::kMemCopy:
      case Op::kMemCopyDyn:
        if (MayBeShared(fn, inst.b) || MayBeShared(fn, inst.d)) granule = 0;
        break;
      case Op::kMemSet:
        if (MayBeShared(fn, inst.b)) granule = 0;
        break;
      default: break;
    }
  }
  return granule;
}

// The provenance of such a parameter goes nowhere but into loads, so nothing is written through it.
bool OnlyLoaded(const isa::Function& fn, uint32_t reg) {
  for (const isa::Inst& inst : fn.code) {
    if (inst.a == reg || inst.b == reg || inst.d == reg || inst.dst == reg || inst.extra == reg)
      return false;
    if (inst.c == reg && inst.op != Op::kLoad) return false;
  }
  return std::find(fn.operands.begin(), fn.operands.end(), reg) == fn.operands.end();
}

// Registers that say which object a pointer points into: what only moves them exists in the
// simulator alone.
std::vector<uint8_t> ProvenanceRegisters(const isa::Function& fn) {
  std::vector<uint8_t> marked(fn.registers.size() + 1, 0);
  const auto mark = [&](uint32_t reg) {
    if (reg >= fn.registers.size() || marked[reg] != 0) return false;
    marked[reg] = 1;
    return true;
  };
  for (const isa::Inst& inst : fn.code) {
    switch (inst.op) {
      case Op::kLoad:
      case Op::kStore:
      case Op::kAtomicRmw:
      case Op::kAtomicCas:
      case Op::kAtomicLoad:
      case Op::kAtomicStore: mark(inst.c); break;
      case Op::kMemCopy:
      case Op::kMemCopyDyn:
      case Op::kMemSet:
      case Op::kPrintf:
        mark(inst.b);
        if (inst.op != Op::kMemSet) mark(inst.d);
        break;
      case Op::kProvOf: mark(inst.dst); break;
      default: break;
    }
  }
  // And where their values come from.
  for (bool changed = true; changed;) {
    changed = false;
    for (const isa::Inst& inst : fn.code) {
      if (inst.dst >= fn.registers.size() || marked[inst.dst] == 0) continue;
      if (inst.op == Op::kMov) changed = mark(inst.a) || changed;
      if (inst.op == Op::kSelect) {
        changed = mark(inst.b) || changed;
        changed = mark(inst.c) || changed;
      }
    }
  }
  return marked;
}

}  // namespace

LaneFn SelectLane(const isa::Inst& inst, unsigned scalar) {
  if (inst.op == Op::kMath) return SelectMath(inst, scalar);
  for (auto select : {SelectInt, SelectFloat, SelectConvert}) {
    if (LaneFn fn = select(inst, scalar); fn != nullptr) return fn;
  }
  return nullptr;
}

DInst Decode(const isa::Function& fn, const isa::Inst& inst) {
  DInst d;
  d.inst = inst;
  d.imm = inst.imm;
  auto zero = static_cast<uint32_t>(fn.registers.size());
  auto operand = [&](uint32_t reg, uint32_t* index, uint8_t* stride) {
    *index = reg < fn.registers.size() ? reg : zero;
    if (*index != zero) *stride = static_cast<uint8_t>(isa::TypeBytes(fn.registers[reg].type));
  };
  operand(inst.a, &d.a, &d.as);
  operand(inst.b, &d.b, &d.bs);
  operand(inst.c, &d.c, &d.cs);
  if (inst.b < fn.registers.size()) d.index64 = fn.registers[inst.b].type == isa::Type::kI64;
  if (inst.dst < fn.registers.size()) {
    d.dst_uniform = fn.registers[inst.dst].uniform;
    d.ds = static_cast<uint8_t>(isa::TypeBytes(fn.registers[inst.dst].type));
  }
  d.cls = ClassOf(inst);
  if (inst.op > Op::kBitcast) return d;  // lane operations come first in the table
  d.overflow = SelectOverflow(inst);
  d.fns[0] = SelectLane(inst, 0);
  d.lanes = d.fns[0] != nullptr;
  return d;
}

void Analyse(DModule& module) {
  const isa::Module& m = module.module;
  uint32_t max_frame = 0;
  for (const isa::Function& fn : m.functions) max_frame = std::max(max_frame, fn.frame_bytes);
  for (size_t i = 0; i < m.functions.size(); ++i) {
    const std::vector<uint8_t> provenance = ProvenanceRegisters(m.functions[i]);
    for (DInst& d : module.functions[i].code) {
      const bool moves = d.inst.op == Op::kMov || d.inst.op == Op::kSelect;
      if (moves && d.inst.dst < provenance.size() && provenance[d.inst.dst] != 0)
        d.cls = InstClass::kNone;
    }
  }
  for (size_t i = 0; i < m.functions.size(); ++i) {
    const isa::Function& fn = m.functions[i];
    if (!fn.is_kernel) continue;
    DFunction& kernel = module.functions[i];
    kernel.reachable = Reachable(m, static_cast<uint32_t>(i));
    for (uint32_t index : kernel.reachable) {
      kernel.shared_granule_log2 =
          std::min(kernel.shared_granule_log2, SharedGranuleLog2(m.functions[index]));
    }
    for (const isa::Param& p : fn.params)
      kernel.param_loaded.push_back(p.prov_reg != isa::kNoReg && OnlyLoaded(fn, p.prov_reg));
    if (max_frame == 0) continue;
    std::vector<int64_t> memo(m.functions.size(), -1);
    bool exact = true;
    uint64_t need = StackNeed(m, static_cast<uint32_t>(i), memo, &exact);
    if (!exact) {
      need =
          std::max<uint64_t>(need, fn.frame_bytes) + std::max<uint64_t>(16ull * max_frame, 16384);
    }
    need = std::min<uint64_t>(need, 1u << 20);
    kernel.stack_need = (need + 63) & ~uint64_t{63};
  }
}

}  // namespace kuafu::simt
