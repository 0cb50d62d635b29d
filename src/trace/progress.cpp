// SPDX-License-Identifier: Apache-2.0
// The progress bar: how far, how long still, at what rate.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "os/clock.h"
#include "trace/trace.h"

namespace kuafu::trace {
namespace {

constexpr int64_t kRedrawNs = 100 * os::kNsPerMs;

int TerminalColumns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

void Draw(std::string_view text) {
  ssize_t ignored = write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(ignored);
}

}  // namespace

std::string ProgressLine(const ProgressState& state) {
  std::string numbers = fmt::format("{}", state.done);
  std::string bar;
  const double seconds = static_cast<double>(state.elapsed_ns) / os::kNsPerSecond;
  if (state.total > 0) {
    constexpr int kCells = 20;
    const int64_t done = std::clamp<int64_t>(state.done, 0, state.total);
    const auto full = static_cast<size_t>(done * kCells / state.total);
    bar = "[" + std::string(full, '#') + std::string(kCells - full, ' ') + "] ";
    numbers = fmt::format("{}/{}", state.done, state.total);
    if (done > 0 && done < state.total) {
      const double left =
          seconds * static_cast<double>(state.total - done) / static_cast<double>(done);
      numbers += " " + FormatDurationNs(static_cast<int64_t>(left) * os::kNsPerSecond) + " left";
    }
  }
  if (seconds > 0.5 && state.done > 0) {
    numbers += fmt::format(" {:.1f}/s", static_cast<double>(state.done) / seconds);
  }
  std::string line = fmt::format("{} {}{}", state.label, bar, numbers);
  if (!state.note.empty()) line += " " + EscapeForMessage(state.note, 200);
  // A line that wraps cannot be redrawn in place.
  const auto width = static_cast<size_t>(std::max(1, state.columns - 1));
  if (line.size() > width) line.resize(width);
  return line;
}

Progress::Progress(std::string label, int64_t total)
    : label_(std::move(label)),
      total_(total),
      begin_ns_(os::SystemClock().NowNs()),
      active_(isatty(STDERR_FILENO) != 0 && GetLevel() < Level::kOff) {}

Progress::~Progress() { Finish(); }

void Progress::Update(int64_t done, std::string_view note) {
  const int64_t now_ns = os::SystemClock().NowNs();
  if (!active_ || (drawn_ns_ != 0 && now_ns - drawn_ns_ < kRedrawNs && done != total_)) return;
  drawn_ns_ = now_ns;
  Draw("\r\x1b[K" + ProgressLine({.label = label_,
                                  .note = note,
                                  .done = done,
                                  .total = total_,
                                  .elapsed_ns = now_ns - begin_ns_,
                                  .columns = TerminalColumns()}));
}

void Progress::Finish() {
  if (active_ && drawn_ns_ != 0) Draw("\r\x1b[K");
  active_ = false;
}

}  // namespace kuafu::trace
