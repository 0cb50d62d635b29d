// SPDX-License-Identifier: Apache-2.0
// Findings: their names, their text for people, and how often each is told.
#include "simt/engine.h"

namespace kuafu::simt {
namespace {

// A device would have ended the kernel at the first of them, and each costs the time of a hundred
// accesses that are right.
constexpr uint64_t kRepeatsMax = 1'000'000;

}  // namespace

std::string_view KindName(Finding::Kind kind) {
  static constexpr std::string_view kNames[] = {
      "oob",     "use_after_free", "race",     "uninit",         "misaligned",
      "barrier", "warp_sync",      "deadlock", "index_overflow", "launch_invalid",
      "trap",    "assert_fail",    "timeout",  "host_pointer"};
  return kNames[static_cast<size_t>(kind)];
}

std::string Describe(const Finding& f) {
  auto triple = [](const uint32_t* v) {
    return "(" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) +
           ")";
  };
  std::string text = f.file.empty() ? "" : f.file + ":" + std::to_string(f.line.line) + ": ";
  text += std::string(KindName(f.kind)) + ": " + f.message;
  if (f.kind != Finding::Kind::kLaunchInvalid)
    text += " [block " + triple(f.block) + " thread " + triple(f.thread) + "]";
  if (f.has_other) {
    text += "; other: block " + triple(f.other_block) + " thread " + triple(f.other_thread);
    if (!f.other_file.empty())
      text += " at " + f.other_file + ":" + std::to_string(f.other_line.line);
  }
  if (!f.kernel.empty()) text += " in " + f.kernel;
  return text;
}

bool LaunchState::Report(Finding f, uint32_t line, uint32_t other_line) {
  uint64_t key =
      (static_cast<uint64_t>(f.kind) << 56) ^ (static_cast<uint64_t>(line) << 28) ^ other_line;
  if (!reported.insert(key).second) {
    if (++repeats >= kRepeatsMax) stop = true;
    return false;
  }
  const isa::Module& m = module->module;
  auto place = [&](uint32_t index, isa::Line* out, std::string* file) {
    if (index == 0 || index >= m.lines.size()) return;
    *out = m.lines[index];
    if (out->file < m.files.size()) *file = m.files[out->file];
  };
  place(line, &f.line, &f.file);
  place(other_line, &f.other_line, &f.other_file);
  f.kernel = m.functions[kernel].pretty;
  result.findings.push_back(std::move(f));
  if (result.findings.size() >= kMaxFindings) stop = true;
  return true;
}

}  // namespace kuafu::simt
