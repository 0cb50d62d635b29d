// SPDX-License-Identifier: Apache-2.0
// Proves that every index, type and target of a module is in range, driven by the opcode table.
// What passes here needs no check in the interpreter's loops.
#include <iterator>

#include "isa/isa.h"

namespace kuafu::isa {
namespace {

struct OpShape {
  char dst;
  std::string_view operands;
};
constexpr OpShape kShapes[] = {
#define OP(name, text, dst, operands) {dst, operands},
#include "isa/opcode.def"
#undef OP
};

class Validator {
 public:
  explicit Validator(const Module& module) : m_(module) {}

  Status Run() {
    for (const Line& line : m_.lines) {
      if (line.file >= m_.files.size() && line.line != 0)
        return Bad("a line names a file that is not there");
    }
    for (const SharedVar& s : m_.shared) {
      if (!IsPowerOfTwo(s.align) || s.bytes > (1u << 30)) return Bad("shared variable " + s.name);
    }
    uint64_t global_bytes = 0;
    for (const Global& g : m_.globals) {
      if (g.bytes > kMaxGlobalBytes || !IsPowerOfTwo(g.align) || g.init.size() > g.bytes ||
          (g.space != Space::kGlobal && g.space != Space::kConstant)) {
        return Bad("global " + g.name + " of " + std::to_string(g.bytes) + " bytes");
      }
      global_bytes += g.bytes;
      if (global_bytes > kMaxGlobalBytes)
        return Bad("globals exceed " + std::to_string(kMaxGlobalBytes) + " bytes");
      for (const Relocation& r : g.relocations) {
        const size_t count = r.is_function ? m_.functions.size() : m_.globals.size();
        if (r.index >= count || g.bytes < 8 || r.offset > g.bytes - 8)
          return Bad("relocation in global " + g.name);
      }
    }
    for (const Function& f : m_.functions) KUAFU_TRY_STATUS(CheckFunction(f));
    return OkStatus();
  }

 private:
  static bool IsPowerOfTwo(uint32_t v) { return v != 0 && (v & (v - 1)) == 0; }
  static Error Bad(std::string what) {
    return Error{Code::kInvalidInput, "checking a device module: invalid " + std::move(what)};
  }
  Error BadInst(const std::string& what) const {
    return Bad("instruction " + std::to_string(pc_) + " (" + std::string(OpName(f_->code[pc_].op)) +
               ") of " + f_->name + ": " + what);
  }
  bool RegIs(uint32_t reg, Type type) const {
    return reg < f_->registers.size() && f_->registers[reg].type == type;
  }
  bool RegsAre(uint32_t first, uint32_t count, Type type) const {
    if (first > f_->registers.size() || count > f_->registers.size() - first) return false;
    for (uint32_t i = 0; i < count; ++i) {
      if (f_->registers[first + i].type != type) return false;
    }
    return true;
  }

  Status CheckFunction(const Function& f) {
    f_ = &f;
    if (f.registers.size() > kMaxRegisters)
      return Bad("function " + f.name + ": too many registers");
    if (f.code.empty() || f.code.size() > kMaxInstructions)
      return Bad("function " + f.name + ": code size");
    if (f.frame_bytes > kMaxFrameBytes || f.frame_bytes % 16 != 0) {
      return Bad("function " + f.name + ": local frame of " + std::to_string(f.frame_bytes) +
                 " bytes, limit " + std::to_string(kMaxFrameBytes));
    }
    if (f.line >= Lines()) return Bad("function " + f.name + ": line");
    for (const Register& r : f.registers) {
      if (static_cast<int>(r.type) >= kTypeCount)
        return Bad("function " + f.name + ": register type");
    }
    for (const Constant& c : f.constants) {
      if (c.reg >= f.registers.size() || !f.registers[c.reg].uniform)
        return Bad("function " + f.name + ": constant");
    }
    for (const Local& l : f.locals) {
      if (l.bytes > f.frame_bytes || l.offset > f.frame_bytes - l.bytes)
        return Bad("function " + f.name + ": local");
    }
    for (const Param& p : f.params) {
      const bool reg_ok =
          p.reg == kNoReg || (p.reg < f.registers.size() && f.registers[p.reg].uniform);
      const bool prov_ok = p.prov_reg == kNoReg ||
                           (RegIs(p.prov_reg, Type::kI32) && f.registers[p.prov_reg].uniform);
      if (!reg_ok || !prov_ok || p.offset > 4096 || p.bytes > 32768)
        return Bad("function " + f.name + ": parameter " + p.name);
    }
    for (uint32_t reg : f.param_regs) {
      if (reg >= f.registers.size() || f.registers[reg].uniform)
        return Bad("function " + f.name + ": argument register");
    }
    for (uint32_t s : f.shared) {
      if (s >= m_.shared.size()) return Bad("function " + f.name + ": shared variable index");
    }
    for (pc_ = 0; pc_ < f.code.size(); ++pc_) KUAFU_TRY_STATUS(CheckInst(f.code[pc_]));
    if (!IsTerminator(f.code.back().op))
      return Bad("function " + f.name + ": no terminator at the end");
    return OkStatus();
  }

  size_t Lines() const { return m_.lines.empty() ? 1 : m_.lines.size(); }
  static bool IsTerminator(Op op) {
    return op == Op::kBr || op == Op::kCondBr || op == Op::kRet || op == Op::kTrap;
  }

  Status CheckInst(const Inst& i) {
    if (static_cast<int>(i.op) >= kOpCount || static_cast<int>(i.type) >= kTypeCount ||
        i.line >= Lines()) {
      return Bad("instruction " + std::to_string(pc_) + " of " + f_->name +
                 ": opcode, type or line");
    }
    const OpShape& shape = kShapes[static_cast<int>(i.op)];
    KUAFU_TRY_STATUS(CheckDst(i, shape.dst));
    const uint32_t regs[] = {i.a, i.b, i.c, i.d};
    for (size_t n = 0; n < shape.operands.size(); ++n)
      KUAFU_TRY_STATUS(CheckOperand(i, shape.operands[n], regs[n], n));
    return CheckRest(i);
  }

  Status CheckDst(const Inst& i, char kind) {
    const auto is = [&](Type t) { return RegIs(i.dst, t); };
    bool ok = true;
    switch (kind) {
      case 'v': ok = is(i.type) || (i.dst == kNoReg && i.op == Op::kAtomicRmw); break;
      case 'i': ok = is(Type::kI1); break;
      case '4':
        ok = is(Type::kI32) || (i.dst == kNoReg && (i.op == Op::kPrintf || i.op == Op::kBarrier));
        break;
      case '8': ok = is(Type::kI64); break;
      case 'm':
        ok = i.Components() >= 1 && i.Components() <= 16 && RegsAre(i.dst, i.Components(), i.type);
        break;
      default: break;
    }
    if (!ok) return BadInst("result register");
    // A uniform result must not depend on the lane: only operations without a lane in them may have
    // one.
    if (kind != 'n' && i.dst != kNoReg && f_->registers[i.dst].uniform) {
      const bool lane_free = i.op < Op::kSpecial || i.op == Op::kParamAddr ||
                             i.op == Op::kSharedAddr || i.op == Op::kGlobalAddr ||
                             i.op == Op::kFuncAddr || i.op == Op::kProvOf || i.op == Op::kLea ||
                             (i.op == Op::kSpecial && i.imm > static_cast<int>(SpecialReg::kTidZ) &&
                              i.imm != static_cast<int>(SpecialReg::kLaneId) &&
                              i.imm != static_cast<int>(SpecialReg::kWarpId));
      if (!lane_free) return BadInst("a per-lane result in a uniform register");
      for (uint32_t r : {i.a, i.b, i.c}) {
        if (r < f_->registers.size() && !f_->registers[r].uniform)
          return BadInst("a uniform result from per-lane operands");
      }
    }
    return OkStatus();
  }

  Status CheckOperand(const Inst& i, char kind, uint32_t reg, size_t index) {
    const auto source = static_cast<Type>(i.aux);
    bool ok = true;
    switch (kind) {
      case 'v': ok = RegIs(reg, i.type); break;
      case 'f': ok = i.aux < kTypeCount && RegIs(reg, source); break;
      case '1': ok = RegIs(reg, Type::kI1) || (i.op == Op::kBarrier && reg == kNoReg); break;
      case '4': ok = RegIs(reg, Type::kI32); break;
      case '8': ok = RegIs(reg, Type::kI64); break;
      case 'x': ok = reg == kNoReg || RegIs(reg, Type::kI32) || RegIs(reg, Type::kI64); break;
      case 'p': ok = RegIs(reg, Type::kI32); break;
      case 'm':
        ok = i.Components() >= 1 && i.Components() <= 16 && RegsAre(reg, i.Components(), i.type);
        break;
      case '?': ok = reg == kNoReg || RegIs(reg, i.op == Op::kMemSet ? Type::kI8 : i.type); break;
      default: break;
    }
    if (!ok) return BadInst("operand " + std::to_string(index));
    return OkStatus();
  }

  Status CheckRest(const Inst& i) {
    const auto imm_below = [&](size_t limit) {
      return i.imm >= 0 && static_cast<uint64_t>(i.imm) < limit;
    };
    bool ok = true;
    switch (i.op) {
      case Op::kICmp: ok = imm_below(10); break;
      case Op::kFCmp: ok = imm_below(16); break;
      case Op::kMath:
        ok = imm_below(static_cast<size_t>(kMathFnCount)) && i.type >= Type::kF32;
        break;
      case Op::kSpecial: ok = imm_below(kSpecialRegCount); break;
      case Op::kParamAddr: ok = imm_below(4096 + 1); break;
      case Op::kSharedAddr: ok = imm_below(m_.shared.size()); break;
      case Op::kGlobalAddr: ok = imm_below(m_.globals.size()); break;
      case Op::kFuncAddr: ok = imm_below(m_.functions.size()); break;
      case Op::kLocalAddr: ok = imm_below(uint64_t{f_->frame_bytes} + 1); break;
      case Op::kLoad:
      case Op::kStore: ok = i.AlignLog2() <= 12 && (i.aux & 7) < kSpaceCount; break;
      case Op::kMemCopy: ok = imm_below(1u << 28); break;
      case Op::kMemCopyDyn: ok = RegIs(i.extra, Type::kI64); break;
      case Op::kMemSet: ok = RegIs(i.c, Type::kI64) && RegIs(i.d, Type::kI8); break;
      case Op::kAssertFail: ok = RegIs(i.extra, Type::kI32); break;
      case Op::kAtomicRmw:
        ok = (i.extra & 0xff) < kAtomicOpCount && (i.extra >> 8 & 0xff) <= 2;
        break;
      case Op::kAtomicCas:
      case Op::kAtomicLoad:
      case Op::kAtomicStore: ok = (i.extra >> 8 & 0xff) <= 2; break;
      case Op::kFence: ok = imm_below(3); break;
      case Op::kBarrier:
        ok = imm_below(16) && i.extra <= 3 && (i.extra == 0 || i.a != kNoReg);
        break;
      case Op::kShfl: ok = i.extra <= 3; break;
      case Op::kVote: ok = i.extra <= 2; break;
      case Op::kRedux: ok = i.extra <= 7; break;
      case Op::kBallot:
      case Op::kActiveMask: ok = imm_below(2); break;
      case Op::kBr: ok = imm_below(f_->code.size()); break;
      case Op::kCondBr: ok = imm_below(f_->code.size()) && i.extra < f_->code.size(); break;
      case Op::kCall:
        ok = imm_below(m_.functions.size()) &&
             CheckCall(i, &m_.functions[static_cast<size_t>(i.imm)]);
        break;
      case Op::kCallIndirect: ok = CheckCall(i, nullptr); break;
      case Op::kRet: ok = CheckRet(i); break;
      default: break;
    }
    if (!ok) return BadInst("immediate, target or operand list");
    return OkStatus();
  }

  bool ListAt(uint32_t offset, std::span<const uint32_t>* list) const {
    const auto& ops = f_->operands;
    if (offset >= ops.size() || ops[offset] > ops.size() - offset - 1) return false;
    *list = std::span(ops).subspan(offset + 1, ops[offset]);
    for (uint32_t r : *list) {
      if (r >= f_->registers.size()) return false;
    }
    return true;
  }

  bool CheckCall(const Inst& i, const Function* callee) const {
    std::span<const uint32_t> args;
    if (!ListAt(i.extra, &args)) return false;
    const size_t results_at = size_t{i.extra} + 1 + args.size();
    if (results_at >= f_->operands.size()) return false;
    const uint32_t results = f_->operands[results_at];
    if (results > 256) return false;
    if (results > 0 && (i.dst > f_->registers.size() || results > f_->registers.size() - i.dst))
      return false;
    for (uint32_t r = 0; r < results; ++r) {
      if (f_->registers[i.dst + r].uniform) return false;
    }
    if (callee == nullptr)
      return true;  // the interpreter compares signatures when it knows the target
    if (callee->is_kernel || callee->param_regs.size() != args.size() ||
        callee->result_count != results)
      return false;
    for (size_t n = 0; n < args.size(); ++n) {
      const uint32_t p = callee->param_regs[n];
      if (p >= callee->registers.size() || callee->registers[p].type != f_->registers[args[n]].type)
        return false;
    }
    return true;
  }

  bool CheckRet(const Inst& i) const {
    if (f_->is_kernel) return i.extra == 0 || i.extra == kNoReg || i.extra < f_->operands.size();
    std::span<const uint32_t> values;
    return ListAt(i.extra, &values) && values.size() == f_->result_count;
  }

  const Module& m_;
  const Function* f_ = nullptr;
  size_t pc_ = 0;
};

}  // namespace

Status Validate(const Module& module) { return Validator(module).Run(); }

}  // namespace kuafu::isa
