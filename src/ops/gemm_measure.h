// SPDX-License-Identifier: Apache-2.0
// How near matrix products come to the peak of this machine, beside the libraries that are
// installed. Everything is measured in one process in turns, and only quotients mean anything.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/cpu.h"

namespace kuafu::ops {

struct GemmCase {
  int64_t m = 0, n = 0, k = 0;
};

struct GemmMeasurement {
  std::string precision, implementation;  // "f32", "avx512"
  int threads = 1;
  double peak = 0;        // operations a second of all threads, without memory
  double inner_loop = 0;  // fraction of the peak, on data in the nearest caches; one thread
  struct Row {
    GemmCase size;
    // Medians of fractions of the peak.
    double plain = 0, packed = 0;  // B as it is, B packed before
    std::vector<std::pair<std::string, double>> peers;
  };
  std::vector<Row> rows;
};

struct GemmMeasureOptions {
  std::vector<std::string> precisions = {"f32", "f64", "bf16", "u8s8"};
  std::vector<GemmCase> sizes;
  int threads = 1;
  int samples = 9;
  Cpu cpu;
};

// One for each precision. `progress` is called after each size with the number done so far.
std::vector<GemmMeasurement> MeasureGemm(const GemmMeasureOptions& options,
                                         const std::function<void(int64_t)>& progress);

}  // namespace kuafu::ops
