// SPDX-License-Identifier: Apache-2.0
// Goal: a process is blamed for its own time only. Method: shells that spin or sleep, with and
// without rivals on their processor; nothing is asserted about how fast anything is.
#include "os/fair_deadline.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <vector>

#include "base/text.h"
#include "os/file.h"
#include "os/process.h"

namespace kuafu::os {
namespace {

constexpr int64_t kLimitMs = 200;

Process Shell(const std::string& script) {
  return Spawn({"/bin/sh", "-c", script}, SpawnOptions{}).value();
}

// On the first processor that this process may use, so that all of them are rivals.
void Pin(const Process& process) {
  cpu_set_t allowed, one;
  CPU_ZERO(&one);
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int cpu = 0;
  while (CPU_ISSET(cpu, &allowed) == 0) ++cpu;
  CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(process.pid(), sizeof one, &one), 0);
}
Process Spinner() {
  Process process = Shell("while :; do :; done");
  Pin(process);
  return process;
}

// The error that ends the wait, and the wall time until then.
std::pair<Code, int64_t> WaitFor(FairDeadline& deadline) {
  const int64_t begin = SystemClock().NowNs();
  while (true) {
    const Status status = deadline.Check();
    if (!status.ok()) return {status.error().code, (SystemClock().NowNs() - begin) / kNsPerMs};
    const Deadline next = deadline.Next();
    while (!next.Expired()) SystemClock().SleepNs(kNsPerMs);
  }
}

TEST(FairDeadline, OneThatSleepsHasItsLimitInWallTime) {
  Process child = Shell("sleep 100");
  FairDeadline deadline(child.pid(), kLimitMs);
  const auto [code, ms] = WaitFor(deadline);
  EXPECT_EQ(code, Code::kDeadline);
  EXPECT_GE(ms, kLimitMs - 1);
}

TEST(FairDeadline, RivalsForTheProcessorDoNotCount) {
  std::vector<Process> rivals;
  for (int i = 0; i < 4; ++i) rivals.push_back(Spinner());
  Process child = Spinner();
  FairDeadline deadline(child.pid(), kLimitMs);
  const auto [code, ms] = WaitFor(deadline);
  EXPECT_EQ(code, Code::kDeadline) << "it spins, so it uses up its time some day";
  // A fifth of a processor at best; half of that for how schedulers are.
  EXPECT_GE(ms, kLimitMs * 5 / 2);
}

TEST(FairDeadline, ThreadsOfItsOwnAreNoRivals) {
  // Python: a shell has no threads. hashlib runs without its lock.
  Process child = Spawn({"/usr/bin/python3", "-c",
                         "import hashlib, threading\n"
                         "b = bytes(1 << 22)\n"
                         "def f():\n"
                         "    while True: hashlib.sha256(b)\n"
                         "[threading.Thread(target=f).start() for _ in range(4)]; f()"},
                        SpawnOptions{})
                      .value();
  Pin(child);
  FairDeadline deadline(child.pid(), 5 * kLimitMs);
  EXPECT_EQ(WaitFor(deadline).first, Code::kDeadline);
  const std::string line =
      ReadFile("/proc/" + std::to_string(child.pid()) + "/schedstat", 100).value();
  EXPECT_LT(ParseInt64(Split(line, ' ')[0]).value(), 4 * kLimitMs * kNsPerMs)
      << "the first thread alone cannot have used it up";
}

TEST(FairDeadline, WhatItWaitsForUsIsAdded) {
  Process child = Shell("sleep 100");
  FairDeadline deadline(child.pid(), kLimitMs);
  deadline.Add(kLimitMs * kNsPerMs);
  EXPECT_GE(WaitFor(deadline).second, 2 * kLimitMs - 1);
}

TEST(FairDeadline, AProcessThatIsGoneHasNoMoreTimeThanTheWall) {
  Process child = Shell("exit 0");
  ASSERT_TRUE(child.Wait(Deadline::AfterMs(10'000)).ok());
  FairDeadline deadline(child.pid(), 1);
  EXPECT_EQ(WaitFor(deadline).first, Code::kDeadline);
}

}  // namespace
}  // namespace kuafu::os
