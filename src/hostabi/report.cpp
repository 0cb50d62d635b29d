// SPDX-License-Identifier: Apache-2.0
// Answers are bounded, but they come from a process that the candidate shares: the parent must
// treat what it reads as the candidate's word.
#include "hostabi/report.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "simt/counters_json.h"
#include "verdict/verdict.h"

namespace kuafu::hostabi {
namespace {

constexpr size_t kPrintfBytesMax = 4096;
constexpr uint64_t kOutputAlign = 64;

verdict::Class ClassOf(const Finding& finding) {
  using Kind = simt::Finding::Kind;
  switch (finding.host) {
    case HostDefect::kOverrun: return verdict::Class::kOob;
    case HostDefect::kStreamOrder: return verdict::Class::kStreamOrder;
    case HostDefect::kNone: break;
  }
  switch (finding.kind) {
    case Kind::kOob:
    case Kind::kUseAfterFree:
    case Kind::kHostPointer: return verdict::Class::kOob;
    case Kind::kRace: return verdict::Class::kRace;
    case Kind::kUninit: return verdict::Class::kUninit;
    case Kind::kMisaligned: return verdict::Class::kMisaligned;
    case Kind::kBarrier: return verdict::Class::kBarrier;
    case Kind::kWarpSync: return verdict::Class::kWarpSync;
    case Kind::kDeadlock: return verdict::Class::kDeadlock;
    case Kind::kIndexOverflow: return verdict::Class::kIndexOverflow;
    case Kind::kLaunchInvalid: return verdict::Class::kLaunchInvalid;
    case Kind::kTimeout: return verdict::Class::kTimeout;
    case Kind::kTrap:
    case Kind::kAssertFail: return verdict::Class::kRuntimeError;
  }
  return verdict::Class::kRuntimeError;
}

std::string Triple(const uint32_t (&v)[3]) {
  return "(" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) + ")";
}

struct Place {
  uint64_t at = 0, bytes = 0;
  uint64_t known_at = 0;  // of a sampled call: a flag for each element
};

// Where each output goes in the memory file.
struct Layout {
  std::vector<Place> places;
  uint64_t bytes = 0;  // of the file
};
Result<Layout> LayOut(const Session& session, const std::vector<Output>& outputs) {
  const uint64_t limit = session.memory().limit_bytes();
  Layout layout;
  const auto take = [&layout](uint64_t bytes) {
    const uint64_t at = (layout.bytes + kOutputAlign - 1) / kOutputAlign * kOutputAlign;
    layout.bytes = at + bytes;
    return at;
  };
  for (const Output& output : outputs) {
    const uint64_t bytes = ElementBytes(output.tensor);
    if (bytes > limit || layout.bytes > limit) {
      return Error{Code::kExhausted, "the results are larger than the device memory of " +
                                         FormatBytes(static_cast<int64_t>(limit))};
    }
    Place place{.at = take(bytes), .bytes = bytes};
    if (session.sampling().on) place.known_at = take(ElementCount(output.tensor));
    layout.places.push_back(place);
  }
  return layout;
}

}  // namespace

Json FindingJson(const Finding& f) {
  // A finding about a launch or about host code happened in no thread.
  const bool in_thread = f.host == HostDefect::kNone &&
                         f.kind != simt::Finding::Kind::kLaunchInvalid && !f.kernel.empty();
  return {{"class", verdict::ClassName(ClassOf(f))},
          {"kind", KindName(f)},
          {"message", f.message},
          {"kernel", f.kernel},
          {"file", f.file},
          {"line", f.line.line},
          {"column", f.line.column},
          {"other_line", f.other_line.line},
          {"block", in_thread ? Triple(f.block) : ""},
          {"thread", in_thread ? Triple(f.thread) : ""},
          {"other_block", f.has_other ? Triple(f.other_block) : ""},
          {"other_thread", f.has_other ? Triple(f.other_thread) : ""},
          {"allocation", f.allocation},
          {"text", Describe(f)}};
}

Json CountersJson(const Counters& c) {
  return {{"launches", c.launches},
          {"dispatches", c.dispatches},
          {"lane_instructions", c.lane_instructions},
          {"global_load_bytes", c.global_load_bytes},
          {"global_store_bytes", c.global_store_bytes}};
}

Result<CallSampling> ReadCallSampling(const Json* json) {
  CallSampling sampling;
  if (json == nullptr || json->is_null()) return sampling;
  sampling.on = true;
  KUAFU_TRY(const std::string seed, JsonString(*json, "seed"));
  KUAFU_TRY(const int64_t launch_lanes, JsonInt(*json, "launch_lanes"));
  KUAFU_TRY(const int64_t call_lanes, JsonInt(*json, "call_lanes"));
  // As text, because JSON numbers end at 2^53 in some readers.
  sampling.seed = std::strtoull(seed.c_str(), nullptr, 10);
  sampling.launch_lanes = static_cast<uint64_t>(std::max<int64_t>(launch_lanes, 0));
  sampling.call_lanes = static_cast<uint64_t>(std::max<int64_t>(call_lanes, 0));
  return sampling;
}

Json SamplingJson(const Session& session) {
  Json launches = Json::array();
  for (const simt::SampledLaunch& l : session.sampled()) {
    launches.push_back({{"kernel", l.kernel},
                        {"blocks", l.blocks},
                        {"blocks_run", l.blocks_run},
                        {"given_up", l.blocks_given_up},
                        {"whole", l.whole},
                        {"why_whole", l.why_whole},
                        {"too_costly", l.too_costly}});
  }
  return {{"blind", session.blind()}, {"launches", std::move(launches)}};
}

Json SessionJson(const Session& session) {
  Json findings = Json::array();
  for (const Finding& f : session.findings()) findings.push_back(FindingJson(f));
  Json json = {{"findings", std::move(findings)},
               {"counters", CountersJson(session.counters)},
               {"float_atomics", session.has_float_atomics()},
               {"library_call", session.library_call},
               {"printf", session.printf_output.substr(0, kPrintfBytesMax)}};
  if (session.counting() != nullptr)
    json["profile"] = simt::CountersToJson(simt::Merge(session.counting()->launches()));
  return json;
}

Result<os::UniqueFd> Answers::CopyOutputs(Session& session, size_t order, const Outcome& outcome,
                                          Json& answer) {
  KUAFU_TRY(const Layout file, LayOut(session, outcome.outputs));
  const auto& [places, total] = file;
  KUAFU_TRY(os::UniqueFd fd, os::CreateMemfd("kuafu-outputs", static_cast<int64_t>(total)));
  Json list = Json::array();
  bool same = false;
  {
    KUAFU_TRY(os::Mapping mapping,
              os::MapFd(fd.get(), static_cast<int64_t>(total), os::Access::kReadWrite));
    for (size_t i = 0; i < places.size(); ++i) {
      const Output& o = outcome.outputs[i];
      const Gathered gathered =
          Gather(session, o.tensor, mapping.bytes().subspan(places[i].at, places[i].bytes));
      const TensorLayout layout = LayoutOf(o.tensor);
      list.push_back({{"dtype", TensorTypeName(layout.dtype)},
                      {"shape", layout.sizes},
                      {"strides", layout.strides},
                      {"at", places[i].at},
                      {"bytes", places[i].bytes},
                      {"never_written", gathered.never_written},
                      {"argument", o.argument}});
      if (!session.sampling().on) continue;
      const KnownElements known = Knowledge(session, o.tensor);
      std::memcpy(mapping.bytes().data() + places[i].known_at, known.flags.data(),
                  known.flags.size());
      list.back()["never_written"] = known.never_written;
      list.back()["known_at"] = places[i].known_at;
      list.back()["coverage"] = session.Coverage(AllocationId(o.tensor));
    }
    same = order > 0 && list == first_.outputs &&
           std::memcmp(mapping.bytes().data(), first_.bytes.bytes().data(), total) == 0;
  }
  if (same) {
    answer["same"] = true;
    return os::UniqueFd();
  }
  KUAFU_TRY_STATUS(os::SealAll(fd.get()));
  answer["outputs"] = list;
  if (order == 0) {
    // Sealed: the candidate cannot make a later order agree by changing this.
    KUAFU_TRY(first_.bytes,
              os::MapFd(fd.get(), static_cast<int64_t>(total), os::Access::kReadOnly));
    first_.outputs = std::move(list);
  }
  return fd;
}

Result<Answer> Answers::Make(Session& session, size_t trial, size_t order, const Outcome& outcome) {
  if (order == 0) first_ = {};
  Answer answer;
  answer.json = {{"trial", trial},
                 {"order", order},
                 {"status", outcome.status},
                 {"error", outcome.error},
                 {"same", false},
                 {"outputs", Json::array()},
                 {"inputs_modified", outcome.inputs_modified}};
  if (outcome.status == "ok") {
    Result<os::UniqueFd> outputs = CopyOutputs(session, order, outcome, answer.json);
    if (outputs.ok()) {
      answer.outputs = std::move(outputs).value();
    } else if (outputs.error().code == Code::kExhausted) {
      answer.json["status"] = "threw";
      answer.json["error"] = outputs.error().message;
    } else {
      return std::move(outputs).error();
    }
  }
  answer.json.update(SessionJson(session));
  if (session.sampling().on) answer.json["sampling"] = SamplingJson(session);
  return answer;
}

Json Answers::Refusal(std::string_view status, const std::string& error) {
  return {{"trial", 0},
          {"order", 0},
          {"status", status},
          {"error", error},
          {"same", false},
          {"outputs", Json::array()},
          {"inputs_modified", Json::array()},
          {"findings", Json::array()},
          {"counters", CountersJson({})},
          {"float_atomics", false},
          {"library_call", ""},
          {"printf", ""}};
}

}  // namespace kuafu::hostabi
