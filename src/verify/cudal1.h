// SPDX-License-Identifier: Apache-2.0
// CUDA-L1's published kernels with the speed-ups that their authors measured, as a test of modelled
// speed-ups: optimized_cuda_code/<gpu>.json of a checkout, an object a line.
//
//   KUAFU_TRY(auto entries, cudal1::Parse(text, "h100"));
//   cudal1::Report({{entry, time, ""}, ...}, HostConstants())
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "verify/work_time.h"

namespace kuafu::verify::cudal1 {

inline constexpr int64_t kBytesMax = int64_t{64} << 20;

struct Entry {
  std::string id;   // "h100/level1/task9"
  std::string gpu;  // of a device profile
  int level = 0, task = 0;
  double speedup = 0;    // over eager PyTorch; measured, published
  bool kernels = false;  // the text has kernels of its own, whether or not they run
  std::string reference, candidate;
};
// Those with a published speed-up and code.
Result<std::vector<Entry>> Parse(std::string_view text, std::string_view gpu);

// Constants may be set with a look at these tasks; the others judge them.
bool IsForFitting(const Entry& entry);

// For `Fit`: what a file does, and how fast it was.
struct Sample {
  const Json* work;  // borrowed
  const device::Profile* profile;
  double speedup = 0;
};
// Constants of the host, within their limits, with the least mean error of logarithms.
HostConstants Fit(const std::vector<Sample>& samples);

struct Judged {
  Entry entry;
  WorkTime time;
  std::string build_error;  // of the extension, empty = it was built, or there is none
};
// Markdown: rank correlation and pairs by half, GPU, kind of work and level, and a line for each.
std::string Report(const std::vector<Judged>& all, const HostConstants& host);

}  // namespace kuafu::verify::cudal1
