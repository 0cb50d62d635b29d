// SPDX-License-Identifier: Apache-2.0
// Log and spans. Spans go into one vector under a mutex: they are milliseconds long, and contention
// on their ends does not show.
#include "trace/trace.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>

#include "base/json.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/file.h"

namespace kuafu::trace {
namespace {

constexpr int64_t kLogLineCharsMax = 8192;

struct Event {
  std::string name;
  Attributes attributes;
  int64_t begin_ns;
  int64_t duration_ns;
  int64_t thread;
};

// Constructed on first use and never destroyed: a span may end while the process is ending.
struct Recorder {
  std::atomic<bool> on = false;
  std::mutex mutex;  // guards what follows
  std::vector<Event> events;
  int64_t dropped = 0;
};

Recorder& TheRecorder() {
  static Recorder* recorder = new Recorder;
  return *recorder;
}

std::atomic<Level> g_level = Level::kWarning;

}  // namespace

void SetLevel(Level level) { g_level.store(level, std::memory_order_relaxed); }
Level GetLevel() { return g_level.load(std::memory_order_relaxed); }

void LogText(Level level, std::string_view text) {
  if (level < GetLevel() || level == Level::kOff) return;
  constexpr std::array<std::string_view, 4> kNames = {"debug", "info", "warning", "error"};
  std::string line(kNames[static_cast<size_t>(level)]);
  line += ": ";
  line += EscapeForMessage(text, kLogLineCharsMax);
  line += '\n';
  // A failed write of a log line has nowhere to be reported.
  ssize_t ignored = write(STDERR_FILENO, line.data(), line.size());
  static_cast<void>(ignored);
}

void RecordSpans(bool on) { TheRecorder().on = on; }

Span::Span(std::string name, Attributes attributes)
    : name_(std::move(name)),
      attributes_(std::move(attributes)),
      begin_ns_(os::SystemClock().NowNs()) {}

Span::~Span() { End(); }

int64_t Span::End() {
  if (duration_ns_ >= 0) return duration_ns_;
  duration_ns_ = os::SystemClock().NowNs() - begin_ns_;
  AddSpan(std::move(name_), begin_ns_, duration_ns_, std::move(attributes_));
  return duration_ns_;
}

void AddSpan(std::string name, int64_t begin_ns, int64_t duration_ns, Attributes attributes) {
  Recorder& recorder = TheRecorder();
  if (!recorder.on) return;
  const int64_t thread = syscall(SYS_gettid);
  std::lock_guard lock(recorder.mutex);
  if (static_cast<int64_t>(recorder.events.size()) >= kSpansMax) {
    ++recorder.dropped;
    return;
  }
  recorder.events.push_back(
      {std::move(name), std::move(attributes), begin_ns, duration_ns, thread});
}

std::string SpansAsJson() {
  Recorder& recorder = TheRecorder();
  Json events = Json::array();
  int64_t dropped = 0;
  {
    std::lock_guard lock(recorder.mutex);
    dropped = recorder.dropped;
    for (const Event& event : recorder.events) {
      Json args = Json::object();
      for (const auto& [name, value] : event.attributes) args[name] = value;
      events.push_back({{"ph", "X"},
                        {"cat", "kuafu"},
                        {"name", event.name},
                        {"pid", static_cast<int64_t>(getpid())},
                        {"tid", event.thread},
                        {"ts", static_cast<double>(event.begin_ns) / 1000},
                        {"dur", static_cast<double>(event.duration_ns) / 1000},
                        {"args", std::move(args)}});
    }
  }
  Json document = {{"schemaVersion", 1}, {"displayTimeUnit", "ms"}, {"droppedEvents", dropped}};
  document["traceEvents"] = std::move(events);
  return DumpJson(document);
}

Status WriteSpans(const std::string& path) { return os::WriteFileAtomic(path, SpansAsJson()); }

}  // namespace kuafu::trace
