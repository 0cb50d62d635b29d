// SPDX-License-Identifier: Apache-2.0
// The verdict on one candidate: a record and its JSON form (docs/verdict.schema.json), no logic. It
// lies low so that whoever stores, ranks or serves verdicts needs nothing of the verifier.
//
//   Json json = verdict::ToJson(verdict);
//   KUAFU_TRY(verdict::Verdict again, verdict::FromJson(json));
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kuafu::verdict {

inline constexpr int kVersion = 2;  // 2: gate legality, reason, reward, feedback

enum class Gate : uint8_t {
  kParse,
  kCompile,
  kLaunch,
  kRun,
  kCompare,
  kLegality,
  kSanitize,
  kPortable,
  kSpeed
};
inline constexpr int kGateCount = 9;
std::string_view GateName(Gate gate);

enum class Class : uint8_t {
#define CLASS(name, text, gate) k##name,
#include "verdict/classes.def"
#undef CLASS
};
std::string_view ClassName(Class c);
// The gate that fails with this class.
Gate GateOf(Class c);
Result<Class> ParseClass(std::string_view text);

enum class GateStatus : uint8_t { kPassed, kFailed, kSkipped };
struct GateResult {
  GateStatus status = GateStatus::kSkipped;
  std::string evidence;  // what was looked at, or why it was skipped
};

// A defect with its place in the candidate's source.
struct Finding {
  Class cls = Class::kOob;
  std::string message;
  std::string kernel, file;
  int line = 0, column = 0;               // from 1; 0 = unknown
  int other_line = 0;                     // races and barriers: the other side
  std::string block, thread;              // "(1,0,0)"
  std::string other_block, other_thread;  // empty where there is no other side
  std::string allocation;
};

struct NumericError {
  double max_abs = 0, max_allowed = 0, rms = 0;
  std::string where;  // "output 0 at [3, 17]"
  double got = 0, expected = 0;
};

// A trial at the task's own sizes, at which not every block has to be executed.
struct SampledTrial {
  std::string trial;         // shape and values
  uint64_t seed = 0;         // of the choice of blocks
  double compared = 0;       // share of the outputs' elements whose value was known and compared
  std::string inconclusive;  // why it proves nothing; empty = it counts as a trial
  struct Kernel {
    std::string name;
    uint64_t blocks = 0, blocks_run = 0;
    uint64_t blocks_given_up = 0;  // of blocks_run: they read what nobody knows
  };
  std::vector<Kernel> kernels;
};
std::string SampledText(const SampledTrial& sampled);  // one line for people

// What a trainer is paid with; filled by verify::RewardOf.
struct Reward {
  bool scored = false;  // false: no sample at all (a fault of the verifier), never a number
  double value = 0;
  double quality = 0;        // share of trials passed
  bool speed_known = false;  // false: no speed bonus in `value`
  double speedup = 0;        // reference time / candidate time
};

// Of a right candidate: its time and that of PyTorch in eager mode, at the same sizes, on the
// target. An uncertainty is a factor: two of three times lie between t / it and t * it.
struct Speed {
  bool known = false;
  std::string why;  // it is not known; empty when known or not asked for
  std::string label = "modelled";
  bool as_written = false;  // the sizes are those of the file, not scaled ones
  bool sampled = false;     // blocks were left out; those that ran stand for all
  double kernel_ms = 0, kernel_uncertainty = 1;
  double eager_ms = 0, eager_uncertainty = 1;
  double speedup = 0, speedup_uncertainty = 1;  // eager / kernel
  double floor_ms = 0;                          // in which no GPU could do it; 0 = not known
  std::string kernel, binds;                    // the longest one, and what most of it goes to
};

struct Verdict {
  std::string task, candidate_hash, form = "native", target;
  Class cls = Class::kInfra;
  std::string reason;   // code of a rule of legality, "try_except_fallback"; empty elsewhere
  std::string summary;  // one sentence
  GateResult gates[kGateCount];
  std::vector<Finding> findings;
  std::string failing_trial;  // shape, values, seed; empty when none failed
  std::string reproducer;     // one command line
  NumericError error;         // of the failing trial, or the worst of the passing ones
  int trials_passed = 0, trials_total = 0;
  std::vector<SampledTrial> sampled;
  std::vector<int> warp_widths;
  std::string plan;
  uint64_t seed = 0;
  double compile_ms = 0, run_ms = 0, total_ms = 0;  // measured on this machine
  Speed speed;
  Reward reward;
  std::string feedback;  // for whoever writes the next attempt; tells no secret of the test
  std::vector<std::string> notes;

  bool pass() const { return cls == Class::kPass; }
};

Json ToJson(const Verdict& verdict);
// Refuses unknown versions, missing or mistyped fields, and more than kMaxFindings findings.
Result<Verdict> FromJson(const Json& json);
inline constexpr size_t kMaxFindings = 1024;
// "a.cu:12: race: message; block (0,0,0) thread (1,0,0) and block (0,0,0) thread (2,0,0) at line
// 9".
std::string FindingText(const Finding& finding);
// "12.3 us, within a factor of 1.3, bound by DRAM; ...", or why it is not known.
std::string SpeedText(const Speed& speed);
// What a person reads in a terminal; several lines.
std::string ToText(const Verdict& verdict);

}  // namespace kuafu::verdict
