// SPDX-License-Identifier: Apache-2.0
// Two queues, one for each worker: whichever is free takes its next unit.
#include "cli/compiler_extension.h"

#include <poll.h>

#include <deque>
#include <utility>

namespace kuafu::cli {
namespace {

constexpr int kPollMs = 1000;  // then Finish, which knows the deadline

// The units whose half one worker compiles, in order.
class Queue {
 public:
  Queue(CompileWorker& worker, std::vector<CompileAnswer>& answers)
      : worker_(worker), answers_(answers) {}

  void Add(size_t unit) { waiting_.push_back(unit); }
  bool busy() const { return busy_; }
  int fd() const { return worker_.fd(); }

  Status Next(const std::vector<klang::CompileRequest>& units, int64_t timeout_ms) {
    if (busy_ || waiting_.empty()) return OkStatus();
    busy_ = true;
    return worker_.Begin({&units[waiting_.front()], timeout_ms});
  }
  Status Finish() {
    KUAFU_TRY(answers_[waiting_.front()], worker_.Finish());
    waiting_.pop_front();
    busy_ = false;
    return OkStatus();
  }

 private:
  CompileWorker& worker_;
  std::vector<CompileAnswer>& answers_;
  std::deque<size_t> waiting_;  // the first one is being compiled
  bool busy_ = false;
};

Status CompileUnits(const std::vector<klang::CompileRequest>& units, int64_t timeout_ms,
                    Queue& device, Queue& host) {
  for (;;) {
    KUAFU_TRY_STATUS(device.Next(units, timeout_ms));
    KUAFU_TRY_STATUS(host.Next(units, timeout_ms));
    if (!device.busy() && !host.busy()) return OkStatus();
    pollfd ends[] = {{device.busy() ? device.fd() : -1, POLLIN, 0},
                     {host.busy() ? host.fd() : -1, POLLIN, 0}};
    const bool known = poll(ends, 2, kPollMs) > 0;
    // Both, before one of them is free again and would be taken for alone.
    const bool device_now = device.busy() && (ends[0].revents != 0 || !host.busy());
    const bool host_now = host.busy() && (ends[1].revents != 0 || !device.busy() || !known);
    if (device_now) KUAFU_TRY_STATUS(device.Finish());
    if (host_now) KUAFU_TRY_STATUS(host.Finish());
  }
}

// False: there is nothing to link, for a reason that `answer` has now.
bool Take(CompileAnswer& half, ExtensionAnswer* answer) {
  if (half.timed_out || !half.crash.empty()) {
    answer->timed_out = half.timed_out;
    answer->crash = half.crash;
    return false;
  }
  klang::AppendDiagnostics(std::move(half.result.diagnostics), &answer->diagnostics);
  return half.result.ok;
}

}  // namespace

Result<ExtensionAnswer> CompileExtension(const std::vector<klang::CompileRequest>& units,
                                         int64_t timeout_ms, CompileWorker& device,
                                         CompileWorker& host) {
  std::vector<CompileAnswer> on_device(units.size()), on_host(units.size());
  Queue device_queue(device, on_device), host_queue(host, on_host);
  // The host halves of plain C++ first: those of the others have company on the device.
  for (const bool with_device : {false, true}) {
    for (size_t i = 0; i < units.size(); ++i) {
      if (units[i].unit->device != with_device) continue;
      host_queue.Add(i);
      if (with_device) device_queue.Add(i);
    }
  }
  KUAFU_TRY_STATUS(CompileUnits(units, timeout_ms, device_queue, host_queue));

  ExtensionAnswer answer;
  LinkJob link{.timeout_ms = timeout_ms};
  bool ok = true;
  for (size_t i = 0; i < units.size(); ++i) {
    answer.device_ms += on_device[i].result.ms;
    answer.host_ms += on_host[i].result.ms;
    // What is wrong with the device half mostly shows in the host half too.
    const bool unit_ok =
        (!units[i].unit->device || Take(on_device[i], &answer)) && Take(on_host[i], &answer);
    if (answer.timed_out || !answer.crash.empty()) return answer;
    ok = ok && unit_ok;
    if (!ok) continue;
    link.files.push_back(units[i].file);
    link.objects.push_back(on_host[i].bytes.get());
    if (units[i].unit->device) answer.files.push_back(std::move(on_device[i].bytes));
  }
  if (!ok) return answer;
  KUAFU_TRY_STATUS(host.BeginLink(link));
  KUAFU_TRY(CompileAnswer linked, host.Finish());
  answer.host_ms += linked.result.ms;
  answer.ok = Take(linked, &answer);
  answer.files.push_back(std::move(linked.bytes));
  return answer;
}

}  // namespace kuafu::cli
