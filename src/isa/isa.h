// SPDX-License-Identifier: Apache-2.0
// The device module: typed register bytecode for one compiled source file. klang writes it, simt
// runs it; it lies below both so that neither knows the other. It is compact, versioned, bounded
// and validated once on load, so the interpreter trusts every index in it.
//
//   KUAFU_TRY(isa::Module module, isa::Read(bytes));   // validated
//   std::string text = isa::Disassemble(module);
//
// Values. A register holds one value per lane (thread) of the block, densely packed by type (i1 as
// one byte, 0 or 1). A *uniform* register holds one value for the whole block, the same for the
// block's whole life: constants, kernel parameters, block index, sizes, and pure arithmetic on
// those. Pointers are 64-bit host virtual addresses; beside each one travels a 32-bit *provenance*
// naming the allocation it may point into (see Provenance below). Vectors and structs are split
// into registers by the writer.
//
// Lanes. thread index t = x + y * bx + z * bx * by; warp = t / warp_width; lane = t % warp_width.
// Warp width is a property of the launch (32, 64 or 128), never of the module.
//
// Mask rule. Member masks are 64 bits as the source wrote them. At width 32 the low 32 bits count.
// Above, 0xffffffff and ~0ull mean "all lanes of the warp" (MUSA code in the wild passes 32-bit
// masks on 128-wide parts; this is an assumption, the exact semantics are not public); other masks
// name lanes 0-63 only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kuafu::isa {

inline constexpr uint32_t kVersion = 1;
inline constexpr uint32_t kNoReg = 0xffffffffu;
inline constexpr uint64_t kFunctionAddressTag = 0x7f46ull << 48;  // not a canonical user address

enum class Type : uint8_t { kI1, kI8, kI16, kI32, kI64, kF16, kBf16, kF32, kF64 };
inline constexpr int kTypeCount = 9;
// Bytes per lane in a register and in memory: i1 1, i8 1, i16 2, ...
int TypeBytes(Type type);
std::string_view TypeName(Type type);
inline bool IsFloat(Type type) { return type >= Type::kF16; }

enum class Op : uint16_t {
#define OP(name, text, dst, operands) k##name,
#include "isa/opcode.def"
#undef OP
};
extern const int kOpCount;
std::string_view OpName(Op op);

// LLVM's order, so that the writer can cast: see llvm::CmpInst::Predicate minus its base.
enum class IntPredicate : uint8_t { kEq, kNe, kUgt, kUge, kUlt, kUle, kSgt, kSge, kSlt, kSle };
enum class FloatPredicate : uint8_t {
  kFalse,
  kOeq,
  kOgt,
  kOge,
  kOlt,
  kOle,
  kOne,
  kOrd,
  kUno,
  kUeq,
  kUgt,
  kUge,
  kUlt,
  kUle,
  kUne,
  kTrue
};

enum class SpecialReg : uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneId,
  kWarpId,
  kWarpSize,
  kNumWarps,
  kSmId,
  kDynamicSharedBytes,
  kGridId,
};
inline constexpr int kSpecialRegCount = 19;

enum class MathFn : uint16_t {
#define MATH(name) k##name,
#include "isa/math.def"
#undef MATH
};
extern const int kMathFnCount;
std::string_view MathName(MathFn fn);

enum class Scope : uint8_t { kBlock, kDevice, kSystem };
enum class AtomicOp : uint8_t {
  kXchg,
  kAdd,
  kSub,
  kAnd,
  kOr,
  kXor,
  kSMin,
  kSMax,
  kUMin,
  kUMax,
  kInc,
  kDec,
  kFAdd,
  kFMin,
  kFMax
};
inline constexpr int kAtomicOpCount = 15;
// Inst::extra of atomics: operation, scope and whether the order is acquire and/or release.
constexpr uint32_t AtomicExtra(AtomicOp op, Scope scope, bool acquire, bool release) {
  return uint32_t(op) | uint32_t(scope) << 8 | uint32_t(acquire) << 16 | uint32_t(release) << 17;
}
enum class BarrierKind : uint8_t { kSync, kPopc, kAnd, kOr };
enum class ShflKind : uint8_t { kIdx, kUp, kDown, kXor };
enum class VoteKind : uint8_t { kAny, kAll, kUni };
enum class ReduxKind : uint8_t { kAdd, kSMin, kSMax, kUMin, kUMax, kAnd, kOr, kXor };

// Statically known state space of an access; kGeneric = decided by provenance at run time.
enum class Space : uint8_t { kGeneric, kGlobal, kShared, kConstant, kLocal, kParam };
inline constexpr int kSpaceCount = 6;
// aux of Load and Store: low 3 bits Space, then flags.
inline constexpr uint8_t kMemVolatile = 1 << 3;
// The value read may be legitimately uninitialised here (a whole-struct copy): no uninit finding.
inline constexpr uint8_t kMemCopy = 1 << 4;

// aux of SyncWarp, Shfl, Vote, Ballot: operand a is not a mask but the size of a tile, a power of
// two: the lanes of the caller's own aligned group of that many (cooperative groups at any width).
// A Ballot then counts its bits from the tile's first lane.
inline constexpr uint8_t kMaskTile = 1;

// extra of Add, Sub, Mul, Mad, Shl: report signed wrap-around as index_overflow.
inline constexpr uint32_t kCheckOverflow = 1;

// Provenance values. 0: none (integer made into a pointer that hits no allocation).
// Globals, device heap: index in the device's allocation table (1 ...).
// Bit 31 set: shared variable of the kernel (index in the low bits); bit 30 set: lane-local frame;
// kProvParam: the launch's parameter block.
inline constexpr uint32_t kProvNone = 0;
inline constexpr uint32_t kProvShared = 1u << 31;
inline constexpr uint32_t kProvLocal =
    1u << 30;  // low bits: index in Function::locals of the running function,
inline constexpr uint32_t kProvLocalAny =
    kProvLocal | 0x3fffffffu;  // or anywhere in the lane's live stack
inline constexpr uint32_t kProvParam = 1u << 29;

struct Inst {
  Op op = Op::kTrap;
  Type type = Type::kI32;
  uint8_t aux = 0;
  uint32_t dst = kNoReg;
  uint32_t a = kNoReg, b = kNoReg, c = kNoReg, d = kNoReg;
  uint32_t line = 0;  // index in Module::lines, 0 = unknown
  uint32_t extra = 0;
  int64_t imm = 0;

  // Memory operations pack their constants in imm.
  int32_t Offset() const { return static_cast<int32_t>(imm); }
  uint32_t Scale() const { return static_cast<uint32_t>(imm >> 32) & 0xffff; }
  uint32_t AlignLog2() const { return static_cast<uint32_t>(imm >> 48) & 0xff; }
  uint32_t Components() const { return static_cast<uint32_t>(imm >> 56) & 0xff; }
  Space MemSpace() const { return static_cast<Space>(aux & 7); }
  static int64_t PackMem(int32_t offset, uint16_t scale, uint8_t align_log2, uint8_t components) {
    return static_cast<int64_t>(
        static_cast<uint64_t>(static_cast<uint32_t>(offset)) | static_cast<uint64_t>(scale) << 32 |
        static_cast<uint64_t>(align_log2) << 48 | static_cast<uint64_t>(components) << 56);
  }
};
static_assert(sizeof(Inst) == 40);

// Position in the user's own file (macro and header positions are resolved to where the user wrote
// it).
struct Line {
  uint32_t file = 0;  // index in Module::files
  uint32_t line = 0, column = 0;
};

struct Register {
  Type type = Type::kI32;
  bool uniform = false;
};

// A uniform register whose value is known at compile time.
struct Constant {
  uint32_t reg = 0;
  uint64_t bits = 0;  // little endian in the low TypeBytes
};

// An object in the lane's local memory: a local array or a variable whose address escapes.
struct Local {
  std::string name;
  uint32_t offset = 0, bytes = 0;
  uint32_t line = 0;
};

// A kernel parameter as it lies in the parameter block.
struct Param {
  std::string name, type_name;
  uint32_t offset = 0, bytes = 0;
  bool is_pointer = false;
  bool read_only = false;  // pointer to const: the kernel does not write through it
  uint32_t reg =
      kNoReg;  // uniform register that receives the value; kNoReg for structs (read by ParamAddr)
  uint32_t prov_reg = kNoReg;  // pointers: uniform register that receives the provenance
};

struct SharedVar {
  std::string name;
  uint32_t bytes = 0, align = 1;
  uint32_t line = 0;
  bool dynamic = false;  // extern __shared__: bytes come from the launch
};

struct Function {
  std::string name;    // mangled
  std::string pretty;  // demangled, for people
  bool is_kernel = false;
  uint32_t line = 0;
  uint32_t max_threads = 0;   // __launch_bounds__, 0 = none
  uint32_t frame_bytes = 0;   // local memory per lane, 16-byte aligned
  std::vector<Param> params;  // kernels
  std::vector<uint32_t>
      param_regs;                // other functions: registers that receive the arguments, in order
  uint32_t result_count = 0;     // other functions
  std::vector<uint32_t> shared;  // kernels: indices in Module::shared that it (or a callee) uses
  std::vector<Register> registers;
  std::vector<Constant> constants;
  std::vector<Local> locals;
  std::vector<uint32_t> operands;  // variable-length operand lists of Call and Ret
  std::vector<Inst> code;
};

struct Relocation {
  uint32_t offset = 0;  // 8 bytes at this offset of the initialiser
  bool is_function = false;
  uint32_t index = 0;  // of the function or global
  int64_t addend = 0;
};

struct Global {
  std::string name;
  Space space = Space::kGlobal;  // kGlobal or kConstant
  uint64_t bytes = 0;
  uint32_t align = 1;
  uint32_t line = 0;
  bool initialized = false;   // zero-filled by the language; true always except for extern arrays
  std::vector<uint8_t> init;  // empty = zeros
  std::vector<Relocation> relocations;
};

struct Module {
  std::string source_name;
  uint32_t arch = 0;  // 900 = sm_90, 310 = mp_31: what __CUDA_ARCH__/__MUSA_ARCH__ was
  bool musa = false;
  std::vector<std::string> files;
  std::vector<Line> lines;  // entry 0 = unknown
  std::vector<SharedVar> shared;
  std::vector<Global> globals;
  std::vector<Function> functions;
};

// Limits of what Read accepts; a module beyond them is invalid_input.
inline constexpr uint64_t kMaxModuleBytes = 64ull << 20;
inline constexpr uint32_t kMaxRegisters = 1u << 16;
inline constexpr uint32_t kMaxInstructions = 1u << 20;
inline constexpr uint64_t kMaxGlobalBytes = 1ull << 34;
inline constexpr uint32_t kMaxFrameBytes = 512u << 10;

// Serialised form: magic, version, sections, checksum. Deterministic: equal modules give equal
// bytes.
std::vector<uint8_t> Write(const Module& module);
// Parses and validates; kCorrupt or kInvalidInput with the offset or the instruction that is wrong.
Result<Module> Read(std::span<const uint8_t> bytes);
// Checks every index, type and target. Read calls it; the writer calls it before Write in tests.
Status Validate(const Module& module);
std::string Disassemble(const Module& module);
std::string DisassembleInst(const Function& function, size_t pc);

}  // namespace kuafu::isa
