// SPDX-License-Identifier: Apache-2.0
// For tests: writes a device module by hand, one method call per instruction. Every instruction
// gets a source line of its own number in "k.cu", so that findings can be told apart.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "isa/isa.h"

namespace kuafu::simt::testing {

using isa::Op;
using isa::Type;
using Reg = uint32_t;

class Builder {
 public:
  Builder() {
    module_.files = {"k.cu"};
    module_.lines.push_back({});
    module_.source_name = "k.cu";
    Begin("k", true);
  }
  // Later instructions go to a new function; returns its index.
  uint32_t Begin(const std::string& name, bool kernel) {
    isa::Function f;
    f.name = f.pretty = name;
    f.is_kernel = kernel;
    module_.functions.push_back(f);
    return static_cast<uint32_t>(module_.functions.size() - 1);
  }
  isa::Function& fn() { return module_.functions.back(); }
  isa::Module& module() { return module_; }

  Reg New(Type type, bool uniform = false) {
    fn().registers.push_back({type, uniform});
    return static_cast<Reg>(fn().registers.size() - 1);
  }
  Reg Const(Type type, uint64_t bits) {
    Reg r = New(type, true);
    fn().constants.push_back({r, bits});
    return r;
  }
  Reg I32(int32_t v) { return Const(Type::kI32, static_cast<uint32_t>(v)); }
  Reg I64(int64_t v) { return Const(Type::kI64, static_cast<uint64_t>(v)); }
  Reg F32(float v) {
    uint32_t bits = 0;
    std::memcpy(&bits, &v, 4);
    return Const(Type::kF32, bits);
  }
  // Pointer parameter: {address, provenance}.
  std::pair<Reg, Reg> Pointer(const std::string& name, bool read_only = false) {
    isa::Param p;
    p.name = name;
    p.offset = Offset(8);
    p.bytes = 8;
    p.is_pointer = true;
    p.read_only = read_only;
    p.reg = New(Type::kI64, true);
    p.prov_reg = New(Type::kI32, true);
    fn().params.push_back(p);
    return {p.reg, p.prov_reg};
  }
  Reg IntParam(const std::string& name) {
    isa::Param p;
    p.name = name;
    p.offset = Offset(4);
    p.bytes = 4;
    p.reg = New(Type::kI32, true);
    fn().params.push_back(p);
    return p.reg;
  }
  uint32_t Shared(const std::string& name, uint32_t bytes, bool dynamic = false) {
    module_.shared.push_back({name, bytes, 16, 0, dynamic});
    auto index = static_cast<uint32_t>(module_.shared.size() - 1);
    fn().shared.push_back(index);
    return index;
  }
  uint32_t pc() const { return static_cast<uint32_t>(module_.functions.back().code.size()); }
  isa::Inst& at(uint32_t pc) { return fn().code[pc]; }

  isa::Inst& Emit(Op op, Type type, Reg dst, Reg a = isa::kNoReg, Reg b = isa::kNoReg,
                  Reg c = isa::kNoReg, Reg d = isa::kNoReg, int64_t imm = 0, uint32_t extra = 0,
                  uint8_t aux = 0) {
    isa::Inst i;
    i.op = op;
    i.type = type;
    i.aux = aux;
    i.dst = dst;
    i.a = a;
    i.b = b;
    i.c = c;
    i.d = d;
    i.imm = imm;
    i.extra = extra;
    module_.lines.push_back({0, static_cast<uint32_t>(module_.lines.size()), 1});
    i.line = static_cast<uint32_t>(module_.lines.size() - 1);
    fn().code.push_back(i);
    last_line_ = i.line;
    return fn().code.back();
  }
  uint32_t line() const { return last_line_; }

  Reg Op2(Op op, Type type, Reg a, Reg b = isa::kNoReg, Reg c = isa::kNoReg) {
    Reg d = New(type);
    Emit(op, type, d, a, b, c);
    return d;
  }
  Reg Add(Reg a, Reg b) { return Op2(Op::kAdd, Type::kI32, a, b); }
  Reg Mul(Reg a, Reg b) { return Op2(Op::kMul, Type::kI32, a, b); }
  Reg Mad(Reg a, Reg b, Reg c) { return Op2(Op::kMad, Type::kI32, a, b, c); }
  void Set(Reg d, Reg a) { Emit(Op::kMov, fn().registers[d].type, d, a); }
  Reg Special(isa::SpecialReg which, bool uniform = false) {
    Reg d = New(Type::kI32, uniform);
    Emit(Op::kSpecial, Type::kI32, d, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg,
         static_cast<int64_t>(which));
    return d;
  }
  Reg Tid() { return Special(isa::SpecialReg::kTidX); }
  Reg Bid() { return Special(isa::SpecialReg::kCtaidX, true); }
  // blockIdx.x * blockDim.x + threadIdx.x
  Reg GlobalTid() {
    Reg b = Bid(), n = Special(isa::SpecialReg::kNtidX, true);
    return Mad(b, n, Tid());
  }
  Reg ICmp(isa::IntPredicate p, Reg a, Reg b) {
    Reg d = New(Type::kI1);
    Emit(Op::kICmp, Type::kI1, d, a, b, isa::kNoReg, isa::kNoReg, static_cast<int64_t>(p), 0,
         static_cast<uint8_t>(fn().registers[a].type));
    return d;
  }
  std::pair<Reg, Reg> SharedPtr(uint32_t index) {
    Reg a = New(Type::kI64, true);
    Emit(Op::kSharedAddr, Type::kI64, a, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg, index);
    return {a, Const(Type::kI32, isa::kProvShared | index)};
  }
  Reg Load(Type type, std::pair<Reg, Reg> p, Reg index = isa::kNoReg, int32_t offset = 0,
           uint8_t aux = 0, uint8_t components = 1) {
    Reg d = New(type);
    for (int i = 1; i < components; ++i) New(type);
    auto bytes = isa::TypeBytes(type) * components;
    Emit(Op::kLoad, type, d, p.first, index, p.second, isa::kNoReg,
         isa::Inst::PackMem(offset, static_cast<uint16_t>(bytes), Log2(bytes), components), 0, aux);
    return d;
  }
  void Store(Type type, std::pair<Reg, Reg> p, Reg index, Reg value, int32_t offset = 0,
             uint8_t aux = 0, uint8_t components = 1) {
    auto bytes = isa::TypeBytes(type) * components;
    Emit(Op::kStore, type, isa::kNoReg, p.first, index, p.second, value,
         isa::Inst::PackMem(offset, static_cast<uint16_t>(bytes), Log2(bytes), components), 0, aux);
  }
  Reg Atomic(isa::AtomicOp op, Type type, std::pair<Reg, Reg> p, Reg value) {
    Reg d = New(type);
    Emit(Op::kAtomicRmw, type, d, p.first, isa::kNoReg, p.second, value, 0,
         isa::AtomicExtra(op, isa::Scope::kDevice, false, false));
    return d;
  }
  void Sync(int64_t id = 0) {
    Emit(Op::kBarrier, Type::kI32, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg,
         id);
  }
  void Ret() {
    fn().operands.push_back(0);
    Emit(Op::kRet, Type::kI32, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg, 0,
         static_cast<uint32_t>(fn().operands.size() - 1));
  }
  void Ret(Reg value) {
    fn().operands.push_back(1);
    fn().operands.push_back(value);
    Emit(Op::kRet, Type::kI32, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg, 0,
         static_cast<uint32_t>(fn().operands.size() - 2));
  }
  void Call(Op op, Reg dst, Reg address, uint32_t function, std::vector<Reg> args) {
    auto at = static_cast<uint32_t>(fn().operands.size());
    fn().operands.push_back(static_cast<uint32_t>(args.size()));
    for (Reg r : args) fn().operands.push_back(r);
    fn().operands.push_back(dst == isa::kNoReg ? 0 : 1);
    Emit(op, Type::kI32, dst, address, isa::kNoReg, isa::kNoReg, isa::kNoReg, function, at);
  }
  // Targets are patched by To(): returns the pc of the branch.
  uint32_t If(Reg cond) {
    Emit(Op::kCondBr, Type::kI1, isa::kNoReg, cond, isa::kNoReg, isa::kNoReg, isa::kNoReg, pc() + 1,
         pc() + 1);
    return pc() - 1;
  }
  void ElseHere(uint32_t branch) { at(branch).extra = pc(); }
  uint32_t Jump(uint32_t target = 0) {
    Emit(Op::kBr, Type::kI1, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg, isa::kNoReg,
         target);
    return pc() - 1;
  }
  void JumpHere(uint32_t branch) { at(branch).imm = pc(); }

 private:
  static uint8_t Log2(int v) {
    uint8_t r = 0;
    while ((2 << r) <= v) ++r;
    return r;
  }
  uint32_t Offset(uint32_t bytes) {
    uint32_t at = 0;
    for (const isa::Param& p : fn().params) at = p.offset + p.bytes;
    return (at + bytes - 1) / bytes * bytes;
  }
  isa::Module module_;
  uint32_t last_line_ = 0;
};

// Parameter block for kernels made of pointers and ints.
class Args {
 public:
  Args& P(const void* p) { return Put(&p, 8); }
  Args& I(int32_t v) { return Put(&v, 4); }
  operator std::span<const uint8_t>() const {
    return bytes_;
  }  // NOLINT(google-explicit-constructor)

 private:
  Args& Put(const void* from, size_t size) {
    bytes_.resize((bytes_.size() + size - 1) / size * size + size);
    std::memcpy(bytes_.data() + bytes_.size() - size, from, size);
    return *this;
  }
  std::vector<uint8_t> bytes_;
};

}  // namespace kuafu::simt::testing
