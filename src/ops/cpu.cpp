// SPDX-License-Identifier: Apache-2.0
#include "ops/cpu.h"

#include "os/file.h"

namespace kuafu::ops {

Cpu CpuUpTo(const std::string& isa) {
  Cpu cpu;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (isa == "reference") return cpu;
  cpu.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == "avx2") return cpu;
  cpu.avx512 = cpu.avx2 && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq");
  cpu.avx512_vnni = cpu.avx512 && __builtin_cpu_supports("avx512vnni");
  cpu.avx512_bf16 = cpu.avx512 && __builtin_cpu_supports("avx512bf16");
#endif
  return cpu;
}

const Cpu& ThisCpu() {
  static const Cpu cpu = [] { return CpuUpTo(os::GetEnv("KUAFU_ISA").value_or("")); }();
  return cpu;
}

}  // namespace kuafu::ops
