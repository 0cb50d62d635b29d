// SPDX-License-Identifier: Apache-2.0
// Names and sizes of the types, opcodes and math functions of a device module.
#include "isa/isa.h"

#include <iterator>

namespace kuafu::isa {
namespace {

constexpr std::string_view kOpNames[] = {
#define OP(name, text, dst, operands) text,
#include "isa/opcode.def"
#undef OP
};

constexpr std::string_view kMathNames[] = {
#define MATH(name) #name,
#include "isa/math.def"
#undef MATH
};

constexpr std::string_view kTypeNames[] = {"i1",  "i8",   "i16", "i32", "i64",
                                           "f16", "bf16", "f32", "f64"};
constexpr int kTypeSizes[] = {1, 1, 2, 4, 8, 2, 2, 4, 8};
static_assert(std::size(kTypeNames) == kTypeCount && std::size(kTypeSizes) == kTypeCount);

}  // namespace

const int kOpCount = static_cast<int>(std::size(kOpNames));
const int kMathFnCount = static_cast<int>(std::size(kMathNames));

int TypeBytes(Type type) { return kTypeSizes[static_cast<int>(type)]; }
std::string_view TypeName(Type type) { return kTypeNames[static_cast<int>(type)]; }
std::string_view OpName(Op op) { return kOpNames[static_cast<int>(op)]; }
std::string_view MathName(MathFn fn) { return kMathNames[static_cast<int>(fn)]; }

}  // namespace kuafu::isa
