// SPDX-License-Identifier: Apache-2.0
// CUDA-L1's published kernels with the speed-ups that their authors measured, as a test of modelled
// speed-ups: optimized_cuda_code/<gpu>.json of a checkout, an object a line.
//
//   KUAFU_TRY(auto entries, cudal1::Parse(text, "h100"));
//   cudal1::Report({{entry, verdict}, ...})
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "verdict/verdict.h"

namespace kuafu::verify::cudal1 {

inline constexpr int64_t kBytesMax = int64_t{64} << 20;

struct Entry {
  std::string id;   // "h100/level1/task9"
  std::string gpu;  // of a device profile
  int level = 0, task = 0;
  double speedup = 0;  // over eager PyTorch; measured, published
  std::string reference, candidate;
};
// Those with kernels of their own: the others call libraries, which has no model here.
Result<std::vector<Entry>> Parse(std::string_view text, std::string_view gpu);

struct Judged {
  Entry entry;
  verdict::Speed speed;
  std::string cls;  // of the verdict, or why there is none
};
// Markdown: rank correlation and pairs for each GPU, and a line for each kernel.
std::string Report(const std::vector<Judged>& all);

}  // namespace kuafu::verify::cudal1
