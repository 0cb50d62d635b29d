// SPDX-License-Identifier: Apache-2.0
// Live ranges by the usual backward data flow, then the widest place. Not counted: what needs no
// register of a thread on hardware (constants, parameters, predicates, provenance, the addresses of
// variables). Two things that ptxas does and the module does not show are added: it unrolls short
// inner loops, as far as that costs no occupancy, and keeps small local arrays in registers. The
// constants are fitted to what it allots on half of kernels/ (docs/counters.md).
#include "isa/pressure.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace kuafu::isa {
namespace {

// What a compiler adds to the live values: its ABI, values in flight.
constexpr uint32_t kOverhead = 4;
constexpr uint32_t kGranule = 2;
// With so many a multiprocessor of 64 K registers still holds 64 warps: unrolling stops there.
constexpr uint32_t kRegistersFree = 32;
constexpr uint32_t kUnrolledInstsMax = 64;
// Of an unrolled loop: for each 32-bit value that one turn makes, and for each of its stores.
constexpr double kUnrolledValue = 1.5, kUnrolledStore = 6;
constexpr uint32_t kArrayBytesMax = 512;  // larger ones stay in local memory
constexpr uint32_t kRegistersMin = 8, kRegistersMax = 255;
constexpr int kCallDepthMax = 16;

using Bits = std::vector<uint64_t>;

constexpr std::string_view kOperands[] = {
#define OP(name, text, dst, operands) operands,
#include "isa/opcode.def"
#undef OP
};

bool Get(const Bits& bits, uint32_t i) { return (bits[i / 64] >> (i % 64) & 1) != 0; }
void Put(Bits& bits, uint32_t i) { bits[i / 64] |= uint64_t{1} << (i % 64); }
void Drop(Bits& bits, uint32_t i) { bits[i / 64] &= ~(uint64_t{1} << (i % 64)); }

bool IsAddressOfVariable(Op op) {
  return op == Op::kSharedAddr || op == Op::kGlobalAddr || op == Op::kLocalAddr ||
         op == Op::kParamAddr || op == Op::kFuncAddr;
}

// 32-bit registers that each virtual register takes; 0 = none.
std::vector<uint8_t> Weights(const Function& fn) {
  std::vector<uint8_t> weight(fn.registers.size());
  for (size_t i = 0; i < weight.size(); ++i) {
    const Type type = fn.registers[i].type;
    weight[i] = type == Type::kI1 ? 0 : TypeBytes(type) == 8 ? 2 : 1;
  }
  const auto free = [&](uint32_t reg) {
    if (reg < weight.size()) weight[reg] = 0;
  };
  for (const Constant& c : fn.constants) free(c.reg);
  for (const Param& p : fn.params) {
    free(p.reg);
    free(p.prov_reg);
  }
  std::vector<uint8_t> provenance(weight.size(), 0);
  const auto mark = [&](uint32_t reg) {
    if (reg >= provenance.size() || provenance[reg] != 0) return false;
    provenance[reg] = 1;
    return true;
  };
  for (const Inst& inst : fn.code) {
    if (IsAddressOfVariable(inst.op)) free(inst.dst);
    const std::string_view operands = kOperands[static_cast<size_t>(inst.op)];
    const uint32_t reg[] = {inst.a, inst.b, inst.c, inst.d};
    for (size_t i = 0; i < operands.size() && i < 4; ++i) {
      if (operands[i] == 'p') mark(reg[i]);
    }
    if (inst.op == Op::kProvOf) mark(inst.dst);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Inst& inst : fn.code) {
      if (inst.dst >= provenance.size() || provenance[inst.dst] == 0) continue;
      if (inst.op == Op::kMov) changed = mark(inst.a) || changed;
      if (inst.op == Op::kSelect) {
        changed = mark(inst.b) || changed;
        changed = mark(inst.c) || changed;
      }
    }
  }
  for (size_t i = 0; i < weight.size(); ++i) {
    if (provenance[i] != 0) weight[i] = 0;
  }
  return weight;
}

template <class Use>
void ForUses(const Function& fn, const Inst& inst, Use use) {
  const auto one = [&](uint32_t reg) {
    if (reg < fn.registers.size()) use(reg);
  };
  one(inst.a);
  one(inst.b);
  one(inst.c);
  const uint32_t stored = inst.op == Op::kStore ? std::max(inst.Components(), 1u) : 1;
  for (uint32_t i = 0; i < stored && inst.d != kNoReg; ++i) one(inst.d + i);
  if (inst.op == Op::kMemCopyDyn || inst.op == Op::kAssertFail) one(inst.extra);
  if (inst.op == Op::kCall || inst.op == Op::kCallIndirect || inst.op == Op::kRet) {
    if (inst.extra >= fn.operands.size()) return;
    const uint32_t count = fn.operands[inst.extra];
    for (uint32_t i = 1; i <= count && inst.extra + i < fn.operands.size(); ++i)
      one(fn.operands[inst.extra + i]);
  }
}

template <class Def>
void ForDefs(const Function& fn, const Inst& inst, Def def) {
  uint32_t count = inst.op == Op::kLoad ? std::max(inst.Components(), 1u) : 1;
  if (inst.op == Op::kCall || inst.op == Op::kCallIndirect) {
    const uint32_t at = inst.extra;
    count = at < fn.operands.size() && at + 1 + fn.operands[at] < fn.operands.size()
                ? fn.operands[at + 1 + fn.operands[at]]
                : 0;
  }
  for (uint32_t i = 0; i < count && inst.dst != kNoReg; ++i) {
    if (inst.dst + i < fn.registers.size()) def(inst.dst + i);
  }
}

struct Block {
  uint32_t begin = 0, end = 0;  // instructions
  std::vector<uint32_t> next;
  Bits in, out;
};

std::vector<Block> BlocksOf(const Function& fn) {
  const auto size = static_cast<uint32_t>(fn.code.size());
  std::vector<uint8_t> leader(size + 1, 0);
  leader[0] = 1;
  const auto lead = [&](uint64_t pc) {
    if (pc <= size) leader[pc] = 1;
  };
  for (uint32_t pc = 0; pc < size; ++pc) {
    const Inst& inst = fn.code[pc];
    if (inst.op == Op::kBr || inst.op == Op::kCondBr) {
      lead(static_cast<uint64_t>(inst.imm));
      if (inst.op == Op::kCondBr) lead(inst.extra);
      lead(pc + 1);
    } else if (inst.op == Op::kRet || inst.op == Op::kTrap || inst.op == Op::kAssertFail) {
      lead(pc + 1);
    }
  }
  std::vector<Block> blocks;
  std::vector<uint32_t> at(size + 1, 0);
  for (uint32_t pc = 0; pc < size; ++pc) {
    if (leader[pc] != 0) blocks.push_back({pc, pc, {}, {}, {}});
    at[pc] = static_cast<uint32_t>(blocks.size() - 1);
    blocks.back().end = pc + 1;
  }
  for (Block& block : blocks) {
    const Inst& last = fn.code[block.end - 1];
    const auto go = [&](uint64_t pc) {
      if (pc < size) block.next.push_back(at[pc]);
    };
    if (last.op == Op::kBr || last.op == Op::kCondBr) {
      go(static_cast<uint64_t>(last.imm));
      if (last.op == Op::kCondBr) go(last.extra);
    } else if (last.op != Op::kRet && last.op != Op::kTrap && last.op != Op::kAssertFail) {
      go(block.end);
    }
  }
  return blocks;
}

// Fills in what lives at the borders of the blocks.
void FindLive(const Function& fn, std::vector<Block>& blocks) {
  const size_t words = fn.registers.size() / 64 + 1;
  for (Block& block : blocks) {
    block.in.assign(words, 0);
    block.out.assign(words, 0);
  }
  const auto step = [&](Bits& live, const Inst& inst) {
    ForDefs(fn, inst, [&](uint32_t reg) { Drop(live, reg); });
    ForUses(fn, inst, [&](uint32_t reg) { Put(live, reg); });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = blocks.size(); b-- > 0;) {
      Block& block = blocks[b];
      for (const uint32_t next : block.next) {
        for (size_t w = 0; w < words; ++w) block.out[w] |= blocks[next].in[w];
      }
      Bits live = block.out;
      for (uint32_t pc = block.end; pc-- > block.begin;) step(live, fn.code[pc]);
      if (live != block.in) {
        block.in = std::move(live);
        changed = true;
      }
    }
  }
}

uint32_t Sum(const Bits& live, const std::vector<uint8_t>& weight) {
  uint32_t sum = 0;
  for (uint32_t r = 0; r < weight.size(); ++r) sum += Get(live, r) ? weight[r] : 0;
  return sum;
}

bool IsWideDivision(const Inst& inst) {
  return (inst.op == Op::kUDiv || inst.op == Op::kSDiv || inst.op == Op::kURem ||
          inst.op == Op::kSRem) &&
         TypeBytes(inst.type) == 8;
}

// What the loop from block `first` to the jump back at the end of `last` would hold when unrolled;
// 0 = it is not: it has a loop, a barrier, a call or the branches of a 64-bit division in it, or is
// long.
uint32_t UnrolledLive(const Function& fn, const std::vector<Block>& blocks,
                      const std::vector<uint8_t>& weight, uint32_t first, uint32_t last) {
  uint32_t insts = 0, values = 0, stores = 0;
  for (uint32_t b = first; b <= last; ++b) {
    for (const uint32_t next : blocks[b].next) {
      if (next >= first && next <= b && !(b == last && next == first)) return 0;
    }
    for (uint32_t pc = blocks[b].begin; pc < blocks[b].end; ++pc) {
      const Inst& inst = fn.code[pc];
      if (inst.op == Op::kBarrier || inst.op == Op::kCall || inst.op == Op::kCallIndirect ||
          IsWideDivision(inst))
        return 0;
      ForDefs(fn, inst, [&](uint32_t reg) { values += weight[reg]; });
      stores += inst.op == Op::kStore ? 1 : 0;
      if (++insts > kUnrolledInstsMax) return 0;
    }
  }
  return Sum(blocks[first].in, weight) +
         static_cast<uint32_t>(values * kUnrolledValue + stores * kUnrolledStore);
}

struct Widest {
  uint32_t live = 0, line = 0;
  uint32_t unrolled = 0;  // of the loops
  uint32_t arrays = 0;    // of this function and of what it calls
};

Widest WidestOf(const Module& module, uint32_t index, int depth, std::vector<Widest>& memo,
                std::vector<uint8_t>& state) {
  if (state[index] == 2) return memo[index];
  if (state[index] == 1 || depth > kCallDepthMax) return {};  // recursion: once is what is known
  state[index] = 1;
  const Function& fn = module.functions[index];
  const std::vector<uint8_t> weight = Weights(fn);
  std::vector<Block> blocks = BlocksOf(fn);
  FindLive(fn, blocks);
  Widest widest;
  widest.arrays = fn.frame_bytes <= kArrayBytesMax ? fn.frame_bytes / 4 : 0;
  const uint32_t arrays = widest.arrays;
  const auto look = [&](uint32_t live, uint32_t line) {
    if (live <= widest.live) return;
    widest.live = live;
    widest.line = line;
  };
  for (uint32_t b = 0; b < blocks.size(); ++b) {
    const Block& block = blocks[b];
    for (const uint32_t next : block.next) {
      if (next <= b)
        widest.unrolled = std::max(widest.unrolled, UnrolledLive(fn, blocks, weight, next, b));
    }
    Bits live = block.out;
    uint32_t sum = Sum(live, weight);
    look(sum, fn.code[block.end - 1].line);
    for (uint32_t pc = block.end; pc-- > block.begin;) {
      const Inst& inst = fn.code[pc];
      ForDefs(fn, inst, [&](uint32_t reg) {
        if (Get(live, reg)) sum -= weight[reg];
        Drop(live, reg);
      });
      if (inst.op == Op::kCall && static_cast<uint64_t>(inst.imm) < module.functions.size()) {
        const Widest inner =
            WidestOf(module, static_cast<uint32_t>(inst.imm), depth + 1, memo, state);
        look(sum + inner.live, inst.line);
        widest.unrolled = std::max(widest.unrolled, sum + inner.unrolled);
        widest.arrays = std::max(widest.arrays, arrays + inner.arrays);
      }
      ForUses(fn, inst, [&](uint32_t reg) {
        if (!Get(live, reg)) sum += weight[reg];
        Put(live, reg);
      });
      look(sum, inst.line);
    }
  }
  memo[index] = widest;
  state[index] = 2;
  return widest;
}

}  // namespace

RegisterEstimate EstimateRegisters(const Module& module, uint32_t kernel) {
  RegisterEstimate estimate;
  if (kernel >= module.functions.size() || module.functions[kernel].code.empty()) return estimate;
  std::vector<Widest> memo(module.functions.size());
  std::vector<uint8_t> state(module.functions.size(), 0);
  const Widest widest = WidestOf(module, kernel, 0, memo, state);
  estimate.live_max = widest.live;
  estimate.line = widest.line;
  uint32_t wanted = widest.live + kOverhead + widest.arrays;
  wanted = std::max(wanted, std::min(widest.unrolled + kOverhead, kRegistersFree));
  wanted = (wanted + kGranule - 1) / kGranule * kGranule;
  uint32_t most = kRegistersMax;
  // The compiler keeps within what __launch_bounds__ allows.
  const uint32_t threads = module.functions[kernel].max_threads;
  if (threads > 0) most = std::min(most, std::max(kRegistersMin, 65536 / threads / 8 * 8));
  estimate.registers = std::clamp(wanted, kRegistersMin, most);
  return estimate;
}

}  // namespace kuafu::isa
