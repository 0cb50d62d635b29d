// SPDX-License-Identifier: Apache-2.0
// Which instruction sets operators may use here.
#pragma once

#include <string>

namespace kuafu::ops {

struct Cpu {
  bool avx2 = false;         // with FMA
  bool avx512 = false;       // F, BW, VL and DQ
  bool avx512_vnni = false;  // dot products of 8-bit integers
  bool avx512_bf16 = false;  // dot products of bfloat16
};

// What this machine has and its system supports, less what KUAFU_ISA forbids: "reference", "avx2"
// or "avx512" allows nothing beyond that. Found once. Thread-safe.
const Cpu& ThisCpu();
// The same without the environment, for tests: "reference", "avx2", "avx512"; others = all.
Cpu CpuUpTo(const std::string& isa);

}  // namespace kuafu::ops
