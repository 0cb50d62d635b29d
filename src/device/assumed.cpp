// SPDX-License-Identifier: Apache-2.0
// Guesses for figures that are not public. For Moore Threads' GPUs they are of the size that the
// published peaks allow, not more.
#include "device/assumed.h"

#include <algorithm>
#include <cmath>

#include "device/occupancy.h"

namespace kuafu::device {
namespace {

constexpr int kClockMhz = 1600;            // between those of an A100 and of an MTT S80
constexpr double kDramGbPerS = 448;        // of the MTT S80, whose generation it is
constexpr double kTensorPerFp32 = 16;      // FP16 tensor peak over FP32 peak: A100 and H100
constexpr double kFp16TensorTflops = 500;  // half of the quoted FP8 peak of an MTT S5000
constexpr double kFp32Tflops = kFp16TensorTflops / kTensorPerFp32;

}  // namespace

Assumption Assume(const Profile& profile) {
  Assumption a{.profile = profile, .guesses = {}};
  Profile& p = a.profile;
  const SmModel& sm = SmModelOf(profile);
  const auto note = [&](const std::string& what) { a.guesses.push_back(what); };
  if (p.clock_mhz == kUnknown) {
    p.clock_mhz = kClockMhz;
    note("clock " + std::to_string(p.clock_mhz) + " MHz");
  }
  if (p.fp32_tflops == kUnknown) {
    p.fp32_tflops =
        p.fp16_tensor_tflops != kUnknown ? p.fp16_tensor_tflops / kTensorPerFp32 : kFp32Tflops;
    note("FP32 peak " + std::to_string(std::lround(p.fp32_tflops)) +
         " TFLOPS: a 16th of the tensor peak, that half of the quoted FP8 peak");
  }
  if (p.fp16_tensor_tflops == kUnknown) {
    p.fp16_tensor_tflops = p.musa && p.arch >= 310 ? kFp16TensorTflops : 4 * p.fp32_tflops;
    note("tensor peak " + std::to_string(std::lround(p.fp16_tensor_tflops)) + " TFLOPS");
  }
  if (p.sm_count == kUnknown) {
    const double each = 2.0 * sm.fp32_lanes * p.clock_mhz * 1e-6;  // TFLOPS
    p.sm_count = std::max(1, static_cast<int>(std::lround(p.fp32_tflops / each)));
    note(std::to_string(p.sm_count) + " SMs: FP32 peak over 2 x " + std::to_string(sm.fp32_lanes) +
         " lanes x clock");
  }
  if (p.dram_gb_per_s == kUnknown) {
    p.dram_gb_per_s = kDramGbPerS;
    note("DRAM bandwidth of an MTT S80");
  }
  const auto take = [&](int& figure, int otherwise, const char* name) {
    if (figure != kUnknown) return;
    figure = otherwise;
    note(std::string(name) + " as sm_80");
  };
  take(p.threads_per_sm_max, sm.warps_per_sm * 32, "threads/SM");
  take(p.blocks_per_sm_max, sm.blocks_per_sm, "blocks/SM");
  take(p.shared_kib_per_sm, sm.shared_kib[9], "shared memory/SM");
  take(p.shared_kib_per_block_opt_in, sm.shared_kib[9], "shared memory/block");
  take(p.registers_per_sm, 65536, "registers/SM");
  take(p.l2_mib, sm.l2_mib, "L2");
  bool assumed = false;
  SmModelOf(profile, &assumed);
  if (assumed) note("rates and latencies of an SM as sm_80");
  return a;
}

}  // namespace kuafu::device
