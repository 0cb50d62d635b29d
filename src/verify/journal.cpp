// SPDX-License-Identifier: Apache-2.0
// Appends and replays lines.
#include "verify/journal.h"

#include "base/text.h"
#include "os/file.h"
#include "os/lock.h"

namespace kuafu::verify {

Result<std::unique_ptr<Journal>> Journal::Open(const std::string& directory) {
  KUAFU_TRY_STATUS(os::MakeDirs(directory));
  auto journal = std::make_unique<Journal>();
  journal->path_ = os::JoinPath(directory, "journal.jsonl");
  KUAFU_TRY(journal->lock_, os::LockFile(os::JoinPath(directory, "lock")));
  if (os::FileExists(journal->path_)) {
    KUAFU_TRY(journal->bytes_, os::FileSize(journal->path_));
  }
  return journal;
}

Result<Journal::Events> Journal::Read() const {
  Events events;
  if (!os::FileExists(path_)) return events;
  KUAFU_TRY(const std::string text, os::ReadFile(path_, kJournalBytesMax));
  for (const std::string_view line : SplitLines(text)) {
    if (line.empty()) continue;
    Result<Json> event = ParseJson(line);
    if (event.ok() && JsonString(event.value(), "event").ok()) {
      events.list.push_back(std::move(event).value());
    } else {
      ++events.unreadable;
    }
  }
  return events;
}

Status Journal::Append(const Json& event) {
  const std::string line = (cut_ ? "\n" : "") + DumpJson(event) + "\n";
  cut_ = true;
  KUAFU_TRY_STATUS(os::AppendFile(path_, line));
  cut_ = false;
  bytes_ += static_cast<int64_t>(line.size());
  return OkStatus();
}

Status Journal::Rewrite(const std::vector<Json>& events) {
  std::string text;
  for (const Json& event : events) text += DumpJson(event) + "\n";
  KUAFU_TRY_STATUS(os::WriteFileAtomic(path_, text, 0600));
  bytes_ = static_cast<int64_t>(text.size());
  cut_ = false;
  return OkStatus();
}

}  // namespace kuafu::verify
