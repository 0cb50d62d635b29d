// SPDX-License-Identifier: Apache-2.0
// How long the work that WorkLister lists would take on a GPU: the kernel model for launches, the
// model of eager PyTorch for its operators, one after the other, with the host that hands them out.
// Modelled, never measured.
//
//   const WorkTime t = TimeOf(work, profile, HostConstants());
//   t.speedup, t.kind, t.why
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "device/profile.h"

namespace kuafu::verify {

enum class HostConstant : uint8_t {
#define CONSTANT(name, ...) name,
#include "verify/work_constants.def"
#undef CONSTANT
};
struct HostConstantInfo {
  const char* name;
  double value, low, high;
  const char* text;
};
inline constexpr HostConstantInfo kHostConstants[] = {
#define CONSTANT(name, value, low, high, text) {#name, value, low, high, text},
#include "verify/work_constants.def"
#undef CONSTANT
};

class HostConstants {
 public:
  HostConstants();
  double operator[](HostConstant c) const { return values_[static_cast<size_t>(c)]; }
  double& operator[](HostConstant c) { return values_[static_cast<size_t>(c)]; }
  std::string Hash() const;

 private:
  std::array<double, std::size(kHostConstants)> values_;
};

// What ran in the timed call.
enum class WorkKind : uint8_t {
  kKernels,  // kernels of the candidate's own, and nothing of PyTorch's but views, copies and fills
  kMixed,    // both
  kPyTorch,  // none of its own
};
std::string_view WorkKindName(WorkKind kind);

struct WorkTime {
  bool known = false;
  std::string why;  // it is not known
  WorkKind kind = WorkKind::kPyTorch;
  double ms = 0, reference_ms = 0;
  double speedup = 0, uncertainty = 1;
  std::string binds;  // what most of the time goes to
  int64_t launches = 0, operators = 0;
  double own_share = 0;                  // of the time, in kernels of its own
  std::vector<std::string> approximate;  // what a GPU would do in another way: "torch.jit", ...
};
// `work`: as WorkLister gives it, of the same target.
WorkTime TimeOf(const Json& work, const device::Profile& profile, const HostConstants& host);

}  // namespace kuafu::verify
