// SPDX-License-Identifier: Apache-2.0
// How long PyTorch in eager mode would take for a list of operations on a GPU: modelled, never
// measured. The host hands out one kernel after the other and runs ahead; each kernel takes its
// bytes over bandwidth or its FLOP over the peak of the unit that it uses, whichever is longer, at
// the efficiency that libraries reach for its kind and shape. docs/time-model.md has the form, the
// data that its constants are fitted to, and the errors on data that they are not.
//
//   const eager::Machine machine = eager::MachineOf(*device::FindProfile("h100"));
//   eager::Estimate e = eager::Model(list, machine, eager::Constants());
//   e.ms, e.ms / e.uncertainty ... e.ms * e.uncertainty
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/profile.h"
#include "task/operators.h"

namespace kuafu::eager {

enum class Constant : uint8_t {
#define CONSTANT(name, ...) name,
#include "eager/constants.def"
#undef CONSTANT
};
struct ConstantInfo {
  const char* name;
  double value, low, high;
  const char* text;
};
inline constexpr ConstantInfo kConstants[] = {
#define CONSTANT(name, value, low, high, text) {#name, value, low, high, text},
#include "eager/constants.def"
#undef CONSTANT
};
inline constexpr int kConstantCount = static_cast<int>(std::size(kConstants));

class Constants {
 public:
  Constants();  // the frozen ones
  double operator[](Constant constant) const { return values_[static_cast<size_t>(constant)]; }
  double at(int index) const { return values_[static_cast<size_t>(index)]; }
  void Set(int index, double value) { values_[static_cast<size_t>(index)] = value; }
  // Of the form, names, and values with 6 digits: a report says with which constants it was made.
  std::string Hash() const;

 private:
  std::array<double, static_cast<size_t>(kConstantCount)> values_;
};

// A GPU and what feeds it. Of a profile without data of its own the H100's shares and host are
// assumed, and `assumed` says so; what is not public of a GPU is guessed, and `guesses` says what.
struct Machine {
  std::string name;
  device::Profile gpu;
  Constant compute{}, tensor{}, bandwidth{}, call_us{}, view_us{};
  bool assumed = false;
  std::vector<std::string> guesses;
};
Machine MachineOf(const device::Profile& profile);

// What a kernel needs on its own, without host and launch.
struct KernelTime {
  double us = 0;
  double memory_us = 0, compute_us = 0;
};
// Bytes of an operation by where they come from; the sum is at least read_bytes + written_bytes.
struct Traffic {
  double dram_bytes = 0, l2_bytes = 0;
};
KernelTime TimeKernel(const task::Operator& op, const Traffic& traffic, const Machine& machine,
                      const Constants& constants);
// One standard deviation of the logarithm of the time of one kernel of this kind.
double KindSigma(task::OperatorKind kind);

enum class Bound : uint8_t { kMemory, kCompute, kLatency, kHost };
std::string_view BoundName(Bound bound);

struct OperatorTime {
  int64_t index = 0;  // in the list
  double us = 0;      // added to the total
  Bound bound = Bound::kMemory;
};

struct Estimate {
  double ms = 0;
  double uncertainty = 1;  // a factor: two of three times lie between ms / it and ms * it
  double host_ms = 0;      // that the GPU waited for the host
  std::vector<OperatorTime> operators;
  task::OperatorKind dominant = task::OperatorKind::kOther;  // kind with the largest share
  double dominant_share = 0;
};

// One thing that the GPU does in turn.
struct Step {
  int64_t op = -1;     // in the list; -1: something else, that takes `us`
  double us = 0;       // alone, without a launch
  double sigma = 0;    // one standard deviation of its logarithm
  double host_us = 0;  // of the host, before the GPU can start it
};
// How a benchmark measures.
struct Protocol {
  // Overwritten before the clock starts, so that the host runs ahead meanwhile; 0: the GPU waits
  // for the host from the first step on.
  double flush_bytes = 0;
  double start_us = 0;  // of the host, between the start of the clock and the first step
};
// Steps one after the other. `list` need not be in their order, and may have an operation twice.
Estimate Walk(const task::OperatorList& list, const std::vector<Step>& steps,
              const Machine& machine, const Constants& constants, const Protocol& protocol);

// Label "modelled".
Estimate Model(const task::OperatorList& list, const Machine& machine, const Constants& constants);

// The same list after torch.compile where that is simple: runs of elementwise operations, and a
// reduction or normalisation at their end, become one kernel that reads what comes from outside and
// writes what is used later. Products and convolutions stay the library's.
task::OperatorList Fused(const task::OperatorList& list);

}  // namespace kuafu::eager
