// SPDX-License-Identifier: Apache-2.0
// The only logging API, spans, and a progress bar. Log lines go to stderr: stdout belongs to
// results. Spans are written as the JSON that PyTorch's profiler writes, so the viewers people have
// can show them.
//
//   trace::Info("compiled {} kernels in {}", count, FormatDurationNs(ns));
//   trace::Span span("compile", {{"file", path}});          // ends with the scope
//   KUAFU_TRY_STATUS(trace::WriteSpans("trace.json"));       // after trace::RecordSpans(true)
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kuafu::trace {

enum class Level : uint8_t { kDebug, kInfo, kWarning, kError, kOff };

// Lines below `level` are dropped; kWarning at the start. Thread-safe, like everything here except
// Progress.
void SetLevel(Level level);
Level GetLevel();

// One line to stderr, in one write: "warning: text". Control characters in the text are escaped,
// since it may quote what a candidate has printed.
void LogText(Level level, std::string_view text);

template <class... Args>
void Log(Level level, fmt::format_string<Args...> format, Args&&... args) {
  if (level < GetLevel()) return;
  LogText(level, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void Debug(fmt::format_string<Args...> format, Args&&... args) {
  Log(Level::kDebug, format, std::forward<Args>(args)...);
}
template <class... Args>
void Info(fmt::format_string<Args...> format, Args&&... args) {
  Log(Level::kInfo, format, std::forward<Args>(args)...);
}
template <class... Args>
void Warning(fmt::format_string<Args...> format, Args&&... args) {
  Log(Level::kWarning, format, std::forward<Args>(args)...);
}
template <class... Args>
void LogError(fmt::format_string<Args...> format, Args&&... args) {
  Log(Level::kError, format, std::forward<Args>(args)...);
}

// Text shown with a span: name and value.
using Attributes = std::vector<std::pair<std::string, std::string>>;

// Off at the start; a span then costs two clock reads. At most kSpansMax are kept, the rest is
// counted.
inline constexpr int64_t kSpansMax = 1'000'000;
void RecordSpans(bool on);

// The time between construction and End() or destruction, on the thread that constructs it.
class Span {
 public:
  explicit Span(std::string name, Attributes attributes = {});
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  // Returns the duration; a second call returns the same.
  int64_t End();

 private:
  std::string name_;
  Attributes attributes_;
  int64_t begin_ns_;
  int64_t duration_ns_ = -1;
};

// A span measured elsewhere, as in another process; `begin_ns` on the monotonic clock.
void AddSpan(std::string name, int64_t begin_ns, int64_t duration_ns, Attributes attributes = {});

// All spans so far as a document with "traceEvents" (complete events, microseconds).
std::string SpansAsJson();
Status WriteSpans(const std::string& path);

// One line on a terminal, redrawn at most ten times a second; nothing when stderr is not a
// terminal.
class Progress {
 public:
  // `total` 0 = unknown.
  Progress(std::string label, int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  // `note` is shown after the numbers.
  void Update(int64_t done, std::string_view note = {});
  // Removes the line, so that what follows starts clean.
  void Finish();

 private:
  std::string label_;
  int64_t total_;
  int64_t begin_ns_;
  int64_t drawn_ns_ = 0;
  bool active_;
};

// The line that Progress draws, without control characters; `columns` is the width of the terminal.
struct ProgressState {
  std::string_view label;
  std::string_view note;
  int64_t done = 0;
  int64_t total = 0;
  int64_t elapsed_ns = 0;
  int columns = 80;
};
std::string ProgressLine(const ProgressState& state);

}  // namespace kuafu::trace
