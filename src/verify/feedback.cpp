// SPDX-License-Identifier: Apache-2.0
// Short on purpose: a model reads the first lines best, and long ones crowd out its own answer.
#include "verify/feedback.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace kuafu::verify {
namespace {

using verdict::Class;
using verdict::Gate;

constexpr size_t kFindingsShown = 4;
constexpr size_t kEvidenceMax = 3000;  // of a compiler's message

const char* Advice(Class cls) {
  switch (cls) {
    case Class::kPass: return "";
    case Class::kFormatError:
      return "Answer with one complete file that can be judged as it stands.";
    case Class::kCheating:
    case Class::kIllegalFallback:
      return "Do the task's arithmetic in your own kernels. Submodules may be kept for their "
             "parameters; pass those to a kernel.";
    case Class::kCompileError: return "Fix the first error; later ones often follow from it.";
    case Class::kLaunchInvalid:
      return "Check grid, block and shared memory against the limits of the device, and look at "
             "cudaGetLastError after a launch.";
    case Class::kIndexOverflow: return "Compute offsets in 64 bits.";
    case Class::kMisaligned:
      return "Vector accesses need aligned addresses: handle rows whose start is not aligned.";
    case Class::kOob: return "Check every index against the size before the access.";
    case Class::kBarrier: return "Every thread of the block must reach the same __syncthreads.";
    case Class::kWarpSync:
      return "The mask of a warp function must name exactly the lanes that call it.";
    case Class::kRace:
      return "Put a barrier between the write and the other thread's access, or use an atomic.";
    case Class::kStreamOrder:
      return "Work on another stream must be waited for before its data is used.";
    case Class::kUninit: return "Write the memory before it is read.";
    case Class::kDeadlock: return "No block may wait for another one that may not be running.";
    case Class::kTimeout: return "Look for a loop that does not end, or for far too much work.";
    case Class::kRuntimeError: return "See the message.";
    case Class::kWrongShape: return "Compute the output's sizes from the inputs' sizes.";
    case Class::kWrongDtype: return "Return the reference's dtype.";
    case Class::kInputModified: return "Write to new memory; the inputs belong to the caller.";
    case Class::kUnwrittenOutput:
      return "Some elements of the output are never written: check the grid and the bounds.";
    case Class::kWrongResult:
      return "Correct the arithmetic for this input first; then for every size and every value "
             "that the task allows.";
    case Class::kNondeterministic:
      return "The result depends on the order in which threads run: something is missing between "
             "a write and a read.";
    case Class::kWarpWidth: return "Do not assume 32 lanes: use warpSize.";
    case Class::kInconclusive:
      return "Nothing wrong was found, but too little could be checked at these sizes. Write each "
             "result with plain stores from blocks that do not wait for each other, or take the "
             "sizes from the inputs.";
    case Class::kInfra: return "";
  }
  return "";
}

std::string Number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string Count(double value) {
  char text[40];
  std::snprintf(text, sizeof text, value < 10 && value != std::floor(value) ? "%.1f" : "%.0f",
                value);
  return text;
}

// Without what follows " order seed " and the like: a verdict's texts may name a seed.
bool TellsASeed(const std::string& text) { return text.find("seed") != std::string::npos; }

std::string Right(const verdict::Verdict& v, const FeedbackFacts& facts) {
  std::string t = "The candidate is right: " + std::to_string(v.trials_total) +
                  " trials of several shapes and values" +
                  (facts.sanitized ? ", no race and no invalid access.\n" : ".\n");
  t += "Keep its results as they are; only time is left to gain.\n";
  if (facts.launches > 0) {
    t += "One call makes " + Count(facts.launches) +
         (facts.launches == 1 ? " kernel launch" : " kernel launches") + " and runs " +
         Count(facts.lane_instructions) + " lane instructions.";
    if (facts.launches >= 2) t += " Fusing kernels saves launches and trips to memory.";
    t += "\n";
  }
  if (v.speed.known && v.speed.as_written) {
    char text[200];
    std::snprintf(text, sizeof text,
                  "By a model of the GPU it is %.2f times as fast as eager PyTorch, give or take a "
                  "factor of %.2f.",
                  v.speed.speedup, v.speed.speedup_uncertainty);
    t += text;
    t += " Most of its time goes to " + v.speed.binds + ", in " + v.speed.kernel + ".\n";
  } else {
    t += "Its speed is not known here.\n";
  }
  return t;
}

std::string Findings(const verdict::Verdict& v) {
  std::string t;
  size_t shown = 0;
  for (const verdict::Finding& f : v.findings) {
    if (shown == kFindingsShown) {
      t += "- and " + std::to_string(v.findings.size() - shown) + " more\n";
      break;
    }
    ++shown;
    t += "- ";
    if (f.line > 0) t += "line " + std::to_string(f.line) + ": ";
    t += f.message;
    if (!f.kernel.empty()) t += " (kernel " + f.kernel + ")";
    if (f.other_line > 0 && f.other_line != f.line)
      t += "; the other side is line " + std::to_string(f.other_line);
    if (!f.thread.empty()) t += "; block " + f.block + " thread " + f.thread;
    if (!f.other_thread.empty()) t += " and block " + f.other_block + " thread " + f.other_thread;
    t += "\n";
  }
  return t;
}

}  // namespace

std::string FeedbackOf(const verdict::Verdict& v, const FeedbackFacts& facts) {
  if (v.cls == Class::kInfra)
    return "The verifier failed, not the candidate; the same candidate is to be judged again.\n";
  if (v.pass()) return Right(v, facts);
  const Gate gate = verdict::GateOf(v.cls);
  std::string t = "The candidate failed: " + std::string(verdict::ClassName(v.cls)) +
                  (v.reason.empty() ? "" : " (" + v.reason + ")") + ", at the gate " +
                  std::string(verdict::GateName(gate)) + ".\n";
  if (!TellsASeed(v.summary)) t += v.summary + "\n";
  const std::string& evidence = v.gates[static_cast<int>(gate)].evidence;
  if (gate == Gate::kCompile && evidence != v.summary)
    t += evidence.substr(0, kEvidenceMax) + (evidence.size() > kEvidenceMax ? "...\n" : "\n");
  t += Findings(v);
  if (!facts.shapes.empty()) {
    t += "The smallest input that shows it: " + facts.shapes +
         (facts.own_values ? ", values as get_inputs draws them.\n"
                           : ", other values than get_inputs draws.\n");
  }
  if (v.cls == Class::kWrongResult && !v.error.where.empty()) {
    t += v.error.where + ": got " + Number(v.error.got) + ", expected " + Number(v.error.expected) +
         ".\n";
  }
  if (v.trials_total > 0) {
    t += std::to_string(v.trials_passed) + " of " + std::to_string(v.trials_total) +
         " trials passed.\n";
  }
  const std::string advice = Advice(v.cls);
  if (!advice.empty()) t += advice + "\n";
  return t;
}

}  // namespace kuafu::verify
