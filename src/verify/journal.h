// SPDX-License-Identifier: Apache-2.0
// What a service must remember beyond its own end: JSON lines, appended; the last line may be cut
// short by a kill. Rewritten when it has grown. One process at a time.
//
//   {"event": "job", "spec": {...}}
//   {"event": "end", "id", "hash", "wall_ns", "attempts", "result"}
//   {"event": "cancel", "id"}
//   {"event": "batch", "id", "hash", "jobs": [...]}
//
// A line survives the kill of this process, not a loss of power: nothing is synced.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "os/fd.h"

namespace kuafu::verify {

inline constexpr int64_t kJournalBytesMax = int64_t{4} << 30;

class Journal {
 public:
  // Creates `directory` when it is absent. unavailable: another process has it.
  static Result<std::unique_ptr<Journal>> Open(const std::string& directory);
  // The events in their order. Lines that are no events are left out and counted.
  struct Events {
    std::vector<Json> list;
    int64_t unreadable = 0;
  };
  Result<Events> Read() const;
  Status Append(const Json& event);
  // Replaces all that was written by these.
  Status Rewrite(const std::vector<Json>& events);
  int64_t bytes() const { return bytes_; }

 private:
  std::string path_;
  os::UniqueFd lock_;
  int64_t bytes_ = 0;
  bool cut_ = false;  // the last line, by a full disk
};

}  // namespace kuafu::verify
