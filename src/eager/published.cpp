// SPDX-License-Identifier: Apache-2.0
// Reader of KernelBench's results/timing.
#include "eager/published.h"

#include <utility>

#include "base/json.h"

namespace kuafu::eager {
namespace {

constexpr int64_t kBytesMax = int64_t{64} << 20;
constexpr struct {
  const char *hardware, *profile;
} kHardware[] = {
    {"NVIDIA H100 80GB HBM3", "h100"},
    {"NVIDIA H100 PCIe", "h100-pcie"},
    {"NVIDIA H200", "h200"},
    {"NVIDIA A100-SXM4-80GB", "a100"},
    {"NVIDIA GeForce RTX 4090", "rtx4090"},
};

}  // namespace

std::string ProfileOfHardware(std::string_view hardware) {
  for (const auto& known : kHardware) {
    if (hardware == known.hardware) return known.profile;
  }
  return "";
}

Result<std::vector<PublishedTime>> ParseKernelBench(std::string_view text) {
  KUAFU_TRY(const Json document, ParseJson(text, kBytesMax));
  if (!document.is_object()) {
    return Error{Code::kInvalidInput, "reading published times: not an object of levels"};
  }
  std::vector<PublishedTime> times;
  for (const auto& [level, tasks] : document.items()) {
    if (!tasks.is_object()) continue;
    for (const auto& [name, entry] : tasks.items()) {
      if (!entry.is_object()) continue;
      const Result<double> mean = JsonNumber(entry, "mean");
      const Result<std::string> hardware = JsonString(entry, "hardware");
      if (!mean.ok() || !hardware.ok() || !(mean.value() > 0)) continue;
      times.push_back({.id = level + "/" + name,
                       .hardware = hardware.value(),
                       .profile = ProfileOfHardware(hardware.value()),
                       .ms = mean.value()});
    }
  }
  return times;
}

const char* ChangedSince(const PublishedTime& time) {
  // By the history of KernelBench's repository: both sets of times are older than the first two
  // changes, those of the PCIe board (July 2025) than the second.
  if (time.id == "level1/12_Matmul_with_diagonal_matrices_.py")
    return "the task was rewritten in January 2026, after its time was published";
  if (time.id == "level1/97_ScaledDotProductAttention.py")
    return "the task asked for FP16 until January 2026, when its time had been published";
  if (time.id == "level1/92_cumsum_exclusive.py" && time.profile == "h100-pcie")
    return "the task was corrected in December 2025, after its time was published";
  return nullptr;
}

}  // namespace kuafu::eager
