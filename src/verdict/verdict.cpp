// SPDX-License-Identifier: Apache-2.0
// Names, JSON and text of the verdict record.
#include "verdict/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "verdict/speed_json.h"

namespace kuafu::verdict {
namespace {

struct ClassRow {
  std::string_view text;
  Gate gate;
};
constexpr ClassRow kClasses[] = {
#define CLASS(name, text, gate) {text, Gate::k##gate},
#include "verdict/classes.def"
#undef CLASS
};
constexpr std::string_view kGateNames[kGateCount] = {
    "parse", "compile", "launch", "run", "compare", "legality", "sanitize", "portable", "speed"};
constexpr std::string_view kStatusNames[] = {"passed", "failed", "skipped"};

Json FindingToJson(const Finding& f) {
  Json j;
  j["class"] = ClassName(f.cls);
  j["message"] = f.message;
  j["kernel"] = f.kernel;
  j["file"] = f.file;
  j["line"] = f.line;
  j["column"] = f.column;
  j["other_line"] = f.other_line;
  j["block"] = f.block;
  j["thread"] = f.thread;
  j["other_block"] = f.other_block;
  j["other_thread"] = f.other_thread;
  j["allocation"] = f.allocation;
  return j;
}

Status ReadInt(const Json& j, const char* key, int& out) {
  KUAFU_TRY(const int64_t value, JsonInt(j, key));
  if (value < 0 || value > 1'000'000'000) {
    return Error{Code::kInvalidInput, std::string("reading a verdict: ") + key + " is " +
                                          std::to_string(value) + ", outside 0 to 1000000000"};
  }
  out = static_cast<int>(value);
  return OkStatus();
}

Status ReadString(const Json& j, const char* key, std::string& out) {
  KUAFU_TRY(out, JsonString(j, key));
  return OkStatus();
}

// JSON has no NaN and no infinity, and an error message that hides them is useless.
Json NumberToJson(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Status ReadNumber(const Json& j, const char* key, double& out) {
  const Json* member = JsonFind(j, key);
  if (member != nullptr && member->is_string()) {
    for (const double special : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      if (NumberToJson(special) != *member) continue;
      out = special;
      return OkStatus();
    }
  }
  KUAFU_TRY(out, JsonNumber(j, key));
  return OkStatus();
}

Result<Finding> FindingFromJson(const Json& j) {
  Finding f;
  KUAFU_TRY(const std::string cls, JsonString(j, "class"));
  KUAFU_TRY(f.cls, ParseClass(cls));
  KUAFU_TRY_STATUS(ReadString(j, "message", f.message));
  KUAFU_TRY_STATUS(ReadString(j, "kernel", f.kernel));
  KUAFU_TRY_STATUS(ReadString(j, "file", f.file));
  KUAFU_TRY_STATUS(ReadInt(j, "line", f.line));
  KUAFU_TRY_STATUS(ReadInt(j, "column", f.column));
  KUAFU_TRY_STATUS(ReadInt(j, "other_line", f.other_line));
  KUAFU_TRY_STATUS(ReadString(j, "block", f.block));
  KUAFU_TRY_STATUS(ReadString(j, "thread", f.thread));
  KUAFU_TRY_STATUS(ReadString(j, "other_block", f.other_block));
  KUAFU_TRY_STATUS(ReadString(j, "other_thread", f.other_thread));
  KUAFU_TRY_STATUS(ReadString(j, "allocation", f.allocation));
  return f;
}

Json SampledToJson(const SampledTrial& s) {
  Json kernels = Json::array();
  for (const SampledTrial::Kernel& k : s.kernels) {
    kernels.push_back({{"name", k.name},
                       {"blocks", k.blocks},
                       {"blocks_run", k.blocks_run},
                       {"blocks_given_up", k.blocks_given_up}});
  }
  return {{"trial", s.trial},
          {"seed", std::to_string(s.seed)},
          {"compared", s.compared},
          {"inconclusive", s.inconclusive},
          {"kernels", std::move(kernels)}};
}

// A number that is not there is null: no reader may take 0 for a score.
Json RewardToJson(const Reward& r) {
  Json j;
  j["value"] = r.scored ? Json(r.value) : Json(nullptr);
  j["quality"] = r.quality;
  j["speedup"] = r.speed_known ? Json(r.speedup) : Json(nullptr);
  return j;
}

Result<Reward> RewardFromJson(const Json& j) {
  Reward r;
  const auto optional = [&](const char* key, bool& present, double& value) -> Status {
    const Json* member = JsonFind(j, key);
    if (member != nullptr && member->is_null()) return OkStatus();
    present = true;
    return ReadNumber(j, key, value);
  };
  KUAFU_TRY_STATUS(optional("value", r.scored, r.value));
  KUAFU_TRY_STATUS(optional("speedup", r.speed_known, r.speedup));
  KUAFU_TRY_STATUS(ReadNumber(j, "quality", r.quality));
  return r;
}

Result<const Json*> Member(const Json& j, const char* key, bool array);

Result<uint64_t> ReadSeed(const Json& j) {
  KUAFU_TRY(const std::string seed, JsonString(j, "seed"));
  if (seed.empty() || seed.size() > 20 ||
      seed.find_first_not_of("0123456789") != std::string::npos) {
    return Error{Code::kInvalidInput, "reading a verdict: seed must be a decimal number in quotes"};
  }
  uint64_t value = 0;
  for (const char c : seed) value = value * 10 + static_cast<uint64_t>(c - '0');
  return value;
}

Result<SampledTrial> SampledFromJson(const Json& j) {
  SampledTrial s;
  KUAFU_TRY_STATUS(ReadString(j, "trial", s.trial));
  KUAFU_TRY(s.seed, ReadSeed(j));
  KUAFU_TRY_STATUS(ReadNumber(j, "compared", s.compared));
  KUAFU_TRY_STATUS(ReadString(j, "inconclusive", s.inconclusive));
  KUAFU_TRY(const Json* kernels, Member(j, "kernels", true));
  for (const Json& k : *kernels) {
    if (s.kernels.size() >= kMaxFindings)
      return Error{Code::kExhausted, "reading a verdict: too many sampled kernels"};
    SampledTrial::Kernel kernel;
    KUAFU_TRY_STATUS(ReadString(k, "name", kernel.name));
    for (const auto& [key, count] : {std::pair{"blocks", &kernel.blocks},
                                     {"blocks_run", &kernel.blocks_run},
                                     {"blocks_given_up", &kernel.blocks_given_up}}) {
      KUAFU_TRY(const int64_t value, JsonInt(k, key));
      *count = static_cast<uint64_t>(std::max<int64_t>(value, 0));
    }
    s.kernels.push_back(std::move(kernel));
  }
  return s;
}

Result<const Json*> Member(const Json& j, const char* key, bool array) {
  const Json* member = JsonFind(j, key);
  if (member == nullptr || (array ? !member->is_array() : !member->is_object())) {
    return Error{Code::kInvalidInput, std::string("reading a verdict: '") + key + "' must be " +
                                          (array ? "a list" : "an object")};
  }
  return member;
}

}  // namespace

std::string_view GateName(Gate gate) { return kGateNames[static_cast<int>(gate)]; }
std::string_view ClassName(Class c) { return kClasses[static_cast<int>(c)].text; }
Gate GateOf(Class c) { return kClasses[static_cast<int>(c)].gate; }

Result<Class> ParseClass(std::string_view text) {
  for (size_t i = 0; i < std::size(kClasses); ++i) {
    if (kClasses[i].text == text) return static_cast<Class>(i);
  }
  return Error{Code::kInvalidInput,
               "reading a failure class: unknown name '" + std::string(text.substr(0, 64)) + "'"};
}

Json ToJson(const Verdict& v) {
  Json j;
  j["version"] = kVersion;
  j["task"] = v.task;
  j["candidate_hash"] = v.candidate_hash;
  j["form"] = v.form;
  j["target"] = v.target;
  j["class"] = ClassName(v.cls);
  j["pass"] = v.pass();
  j["reason"] = v.reason;
  j["summary"] = v.summary;
  Json gates = Json::object();
  for (int g = 0; g < kGateCount; ++g) {
    gates[std::string(kGateNames[g])] = {
        {"status", kStatusNames[static_cast<int>(v.gates[g].status)]},
        {"evidence", v.gates[g].evidence}};
  }
  j["gates"] = std::move(gates);
  j["findings"] = Json::array();
  for (const Finding& f : v.findings) j["findings"].push_back(FindingToJson(f));
  j["failing_trial"] = v.failing_trial;
  j["reproducer"] = v.reproducer;
  j["error"] = {{"max_abs", NumberToJson(v.error.max_abs)},
                {"max_allowed", NumberToJson(v.error.max_allowed)},
                {"rms", NumberToJson(v.error.rms)},
                {"where", v.error.where},
                {"got", NumberToJson(v.error.got)},
                {"expected", NumberToJson(v.error.expected)}};
  j["trials_passed"] = v.trials_passed;
  j["trials_total"] = v.trials_total;
  j["sampled"] = Json::array();
  for (const SampledTrial& s : v.sampled) j["sampled"].push_back(SampledToJson(s));
  j["warp_widths"] = v.warp_widths;
  j["plan"] = v.plan;
  j["seed"] = std::to_string(v.seed);  // text: JSON numbers lose 64-bit integers in many readers
  j["time_label"] = "measured";
  j["compile_ms"] = v.compile_ms;
  j["run_ms"] = v.run_ms;
  j["total_ms"] = v.total_ms;
  j["speed"] = SpeedToJson(v.speed);
  j["reward"] = RewardToJson(v.reward);
  j["feedback"] = v.feedback;
  j["notes"] = v.notes;
  return j;
}

Result<Verdict> FromJson(const Json& j) {
  KUAFU_TRY(const int64_t version, JsonInt(j, "version"));
  if (version != kVersion) {
    return Error{Code::kUnsupported, "reading a verdict: version " + std::to_string(version) +
                                         ", this program reads " + std::to_string(kVersion)};
  }
  Verdict v;
  KUAFU_TRY_STATUS(ReadString(j, "task", v.task));
  KUAFU_TRY_STATUS(ReadString(j, "candidate_hash", v.candidate_hash));
  KUAFU_TRY_STATUS(ReadString(j, "form", v.form));
  KUAFU_TRY_STATUS(ReadString(j, "target", v.target));
  KUAFU_TRY(const std::string cls, JsonString(j, "class"));
  KUAFU_TRY(v.cls, ParseClass(cls));
  KUAFU_TRY_STATUS(ReadString(j, "reason", v.reason));
  KUAFU_TRY_STATUS(ReadString(j, "summary", v.summary));
  KUAFU_TRY(const Json* gates, Member(j, "gates", false));
  for (int g = 0; g < kGateCount; ++g) {
    // Records of the same version were written before there was this gate.
    if (g == static_cast<int>(Gate::kSpeed) && JsonFind(*gates, "speed") == nullptr) continue;
    KUAFU_TRY(const Json* gate, Member(*gates, std::string(kGateNames[g]).c_str(), false));
    KUAFU_TRY(const std::string status, JsonString(*gate, "status"));
    size_t s = 0;
    while (s < std::size(kStatusNames) && kStatusNames[s] != status) ++s;
    if (s == std::size(kStatusNames)) {
      return Error{Code::kInvalidInput,
                   "reading a verdict: gate status '" + status.substr(0, 64) + "' is unknown"};
    }
    v.gates[g].status = static_cast<GateStatus>(s);
    KUAFU_TRY_STATUS(ReadString(*gate, "evidence", v.gates[g].evidence));
  }
  KUAFU_TRY(const Json* findings, Member(j, "findings", true));
  if (findings->size() > kMaxFindings) {
    return Error{Code::kExhausted, "reading a verdict: " + std::to_string(findings->size()) +
                                       " findings, limit " + std::to_string(kMaxFindings)};
  }
  for (const Json& f : *findings) {
    KUAFU_TRY(Finding finding, FindingFromJson(f));
    v.findings.push_back(std::move(finding));
  }
  KUAFU_TRY_STATUS(ReadString(j, "failing_trial", v.failing_trial));
  KUAFU_TRY_STATUS(ReadString(j, "reproducer", v.reproducer));
  KUAFU_TRY(const Json* error, Member(j, "error", false));
  KUAFU_TRY_STATUS(ReadNumber(*error, "max_abs", v.error.max_abs));
  KUAFU_TRY_STATUS(ReadNumber(*error, "max_allowed", v.error.max_allowed));
  KUAFU_TRY_STATUS(ReadNumber(*error, "rms", v.error.rms));
  KUAFU_TRY_STATUS(ReadString(*error, "where", v.error.where));
  KUAFU_TRY_STATUS(ReadNumber(*error, "got", v.error.got));
  KUAFU_TRY_STATUS(ReadNumber(*error, "expected", v.error.expected));
  KUAFU_TRY_STATUS(ReadInt(j, "trials_passed", v.trials_passed));
  KUAFU_TRY_STATUS(ReadInt(j, "trials_total", v.trials_total));
  // Older records have none.
  if (const Json* sampled = JsonFind(j, "sampled"); sampled != nullptr) {
    KUAFU_TRY(sampled, Member(j, "sampled", true));
    for (const Json& item : *sampled) {
      if (v.sampled.size() >= kMaxFindings)
        return Error{Code::kExhausted, "reading a verdict: too many sampled trials"};
      KUAFU_TRY(SampledTrial trial, SampledFromJson(item));
      v.sampled.push_back(std::move(trial));
    }
  }
  KUAFU_TRY(const Json* widths, Member(j, "warp_widths", true));
  for (const Json& w : *widths) {
    if (!w.is_number_integer() || v.warp_widths.size() >= 8)
      return Error{Code::kInvalidInput, "reading a verdict: warp_widths"};
    v.warp_widths.push_back(w.get<int>());
  }
  KUAFU_TRY_STATUS(ReadString(j, "plan", v.plan));
  KUAFU_TRY(v.seed, ReadSeed(j));
  KUAFU_TRY_STATUS(ReadNumber(j, "compile_ms", v.compile_ms));
  KUAFU_TRY_STATUS(ReadNumber(j, "run_ms", v.run_ms));
  KUAFU_TRY_STATUS(ReadNumber(j, "total_ms", v.total_ms));
  if (const Json* speed = JsonFind(j, "speed"); speed != nullptr && !speed->is_null()) {
    KUAFU_TRY(v.speed, SpeedFromJson(*speed));
  }
  KUAFU_TRY(const Json* reward, Member(j, "reward", false));
  KUAFU_TRY(v.reward, RewardFromJson(*reward));
  KUAFU_TRY_STATUS(ReadString(j, "feedback", v.feedback));
  KUAFU_TRY(const Json* notes, Member(j, "notes", true));
  for (const Json& n : *notes) {
    if (!n.is_string() || v.notes.size() >= kMaxFindings)
      return Error{Code::kInvalidInput, "reading a verdict: notes"};
    v.notes.push_back(n.get<std::string>());
  }
  return v;
}

std::string FindingText(const Finding& f) {
  std::string t = f.file + ":" + std::to_string(f.line) + ": " + std::string(ClassName(f.cls)) +
                  ": " + f.message;
  if (!f.thread.empty()) t += "; block " + f.block + " thread " + f.thread;
  if (!f.other_thread.empty()) {
    t += " and block " + f.other_block + " thread " + f.other_thread;
    if (f.other_line > 0) t += " at line " + std::to_string(f.other_line);
  }
  return t;
}

std::string SampledText(const SampledTrial& s) {
  std::string t = s.trial + ": ";
  uint64_t left_out = 0;
  std::string kernels;
  for (const SampledTrial::Kernel& k : s.kernels) {
    left_out += k.blocks - std::min(k.blocks, k.blocks_run);
    kernels += (kernels.empty() ? "" : "; ") + std::to_string(k.blocks_run) + " of " +
               std::to_string(k.blocks) + " blocks of " + k.name;
    if (k.blocks_given_up > 0)
      kernels += ", of which " + std::to_string(k.blocks_given_up) + " needed what was left out";
  }
  char share[64];
  std::snprintf(share, sizeof share, "%.3g %% of the output's elements compared", 100 * s.compared);
  t += left_out == 0 ? "executed whole" : "block-sampled: " + kernels;
  t += ", " + std::string(share);
  if (!s.inconclusive.empty()) t += "; proves nothing: " + s.inconclusive;
  return t;
}

std::string ToText(const Verdict& v) {
  std::string t = v.pass() ? "PASS  " : v.cls == Class::kInconclusive ? "OPEN  " : "FAIL  ";
  t += std::string(ClassName(v.cls)) + (v.reason.empty() ? "" : " (" + v.reason + ")") + "  " +
       v.task + "  on " + v.target + "\n  " + v.summary + "\n";
  for (int g = 0; g < kGateCount; ++g) {
    const GateResult& gate = v.gates[g];
    if (gate.status == GateStatus::kSkipped && gate.evidence.empty()) continue;
    t += "  " + std::string(kGateNames[g]) + std::string(10 - kGateNames[g].size(), ' ') +
         std::string(kStatusNames[static_cast<int>(gate.status)]) + "  " + gate.evidence + "\n";
  }
  for (const Finding& f : v.findings) t += "  " + FindingText(f) + "\n";
  if (!v.failing_trial.empty()) t += "  failing trial: " + v.failing_trial + "\n";
  for (const SampledTrial& s : v.sampled) t += "  nominal size: " + SampledText(s) + "\n";
  for (const std::string& note : v.notes) t += "  note: " + note + "\n";
  if (!v.reproducer.empty()) t += "  reproduce: " + v.reproducer + "\n";
  return t;
}

}  // namespace kuafu::verdict
