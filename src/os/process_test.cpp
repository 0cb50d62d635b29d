// SPDX-License-Identifier: Apache-2.0
// Goal: children end when told to, their output cannot block or fill us, descriptors go where they
// should and nowhere else. Method: real shells.
#include "os/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "base/text.h"
#include "os/channel.h"
#include "os/file.h"

namespace kuafu::os {
namespace {

Deadline Soon() { return Deadline::AfterMs(10'000); }

Result<Process> Shell(const std::string& script, SpawnOptions options = {}) {
  options.stdout_stream = Stream::kCapture;
  options.stderr_stream = Stream::kCapture;
  return Spawn({"/bin/sh", "-c", script}, options);
}

// True when no process has this id, or only one that has ended and waits to be reaped by init.
bool Gone(const std::string& pid) {
  Result<std::string> stat = ReadFile("/proc/" + pid + "/stat", 4096);
  return !stat.ok() || stat.value().find(") Z ") != std::string::npos;
}

TEST(Process, CapturesOutputAndExitCode) {
  Result<Process> child = Shell("cat; echo err >&2; exit 3", {.stdin_bytes = "input\n"});
  ASSERT_TRUE(child.ok()) << child.error().ToString();
  Result<ExitStatus> status = child.value().Wait(Soon());
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status.value().ToString(), "exit code 3");
  EXPECT_EQ(child.value().captured_stdout(), "input\n");
  EXPECT_EQ(child.value().captured_stderr(), "err\n");
  EXPECT_EQ(child.value().Wait(Soon()).value().exit_code, 3);
}

TEST(Process, SignalIsReported) {
  Result<Process> child = Shell("kill -SEGV $$");
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child.value().Wait(Soon()).value().signal, SIGSEGV);
}

TEST(Process, ProgramThatIsNotThereIsAnError) {
  Result<Process> child = Spawn({"/no/such/program"}, {});
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.error().code, Code::kNotFound);
  EXPECT_NE(child.error().message.find("/no/such/program"), std::string::npos);
}

TEST(Process, DeadlineKillsTheWholeGroup) {
  TempDir dir = TempDir::Create("test").value();
  Result<Process> child = Shell("sleep 100 & echo $! >" + dir.File("pid") + "; sleep 100");
  ASSERT_TRUE(child.ok());
  while (FileSize(dir.File("pid")).ok() == false || FileSize(dir.File("pid")).value() == 0) {
    SystemClock().SleepNs(kNsPerMs);
  }
  int64_t begin_ns = SystemClock().NowNs();
  Result<ExitStatus> status = child.value().Wait(Deadline::AfterMs(50));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kDeadline);
  EXPECT_LT(SystemClock().NowNs() - begin_ns, 5 * kNsPerSecond);
  std::string pid(Trim(ReadFile(dir.File("pid"), 100).value()));
  for (int i = 0; i < 1000 && !Gone(pid); ++i) SystemClock().SleepNs(kNsPerMs);
  EXPECT_TRUE(Gone(pid));
}

TEST(Process, LeftoversDieWithTheLeader) {
  Result<Process> child = Shell("sleep 100 >/dev/null 2>&1 & echo $!");
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(child.value().Wait(Soon()).ok());
  std::string pid(Trim(child.value().captured_stdout()));
  ASSERT_FALSE(pid.empty());
  for (int i = 0; i < 1000 && !Gone(pid); ++i) SystemClock().SleepNs(kNsPerMs);
  EXPECT_TRUE(Gone(pid));
}

TEST(Process, GigabyteOfOutputIsDropped) {
  Result<Process> child =
      Shell("head -c 200000000 /dev/zero; echo end >&2", {.capture_bytes_max = 1000});
  ASSERT_TRUE(child.ok());
  Result<ExitStatus> status = child.value().Wait(Soon());
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status.value().exit_code, 0);
  EXPECT_EQ(child.value().captured_stdout().size(), 1000u);
  EXPECT_TRUE(child.value().stdout_truncated());
  EXPECT_EQ(child.value().captured_stderr(), "end\n");
}

TEST(Process, NoisyChildStillAnswers) {
  ChannelPair pair = std::move(CreateChannelPair()).value();
  Result<Process> child =
      Shell("head -c 1000000 /dev/zero; printf '\\002\\000\\000\\000ok' >&5; sleep 100",
            {.inherited_fds = {{pair.theirs.get(), 5}}});
  ASSERT_TRUE(child.ok());
  pair.theirs.Reset();
  Result<WaitEvent> event = child.value().WaitReadable(pair.ours.fd(), Soon());
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(event.value(), WaitEvent::kReadable);
  EXPECT_EQ(pair.ours.Receive(10, Soon()).value().bytes, "ok");
  child.value().Kill();
  EXPECT_EQ(child.value().Wait(Soon()).value().signal, SIGKILL);
}

TEST(Process, EndOfTheChildEndsTheWait) {
  ChannelPair pair = std::move(CreateChannelPair()).value();
  Result<Process> child = Shell("exit 0");
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child.value().WaitReadable(pair.ours.fd(), Soon()).value(), WaitEvent::kExited);
}

TEST(Process, OnlyNamedDescriptorsAreInherited) {
  // One without close-on-exec, as a careless library leaves it.
  UniqueFd leaked(open("/dev/null", O_RDONLY));
  UniqueFd wanted(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Result<Process> child =
      Shell("for f in /proc/$$/fd/*; do [ -e $f ] && printf '%s ' ${f##*/}; done",
            {.inherited_fds = {{wanted.get(), 9}}});
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(child.value().Wait(Soon()).ok());
  EXPECT_EQ(child.value().captured_stdout(), "0 1 2 9 ");
}

TEST(Process, SwappedDescriptorNumbers) {
  TempDir dir = TempDir::Create("test").value();
  ASSERT_TRUE(WriteFileAtomic(dir.File("a"), "a").ok());
  ASSERT_TRUE(WriteFileAtomic(dir.File("b"), "b").ok());
  UniqueFd a(open(dir.File("a").c_str(), O_RDONLY | O_CLOEXEC));
  UniqueFd b(open(dir.File("b").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_LT(b.get(), 10);
  std::string script = "cat <&" + std::to_string(b.get()) + "; cat <&" + std::to_string(a.get());
  Result<Process> child =
      Shell(script, {.inherited_fds = {{a.get(), b.get()}, {b.get(), a.get()}}});
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(child.value().Wait(Soon()).ok());
  EXPECT_EQ(child.value().captured_stdout(), "ab");
}

TEST(Process, EnvironmentAndLimits) {
  Result<Process> child = Shell("echo $NAME; ulimit -n; ulimit -c; pwd",
                                {.environment = std::vector<std::string>{"NAME=value"},
                                 .working_directory = "/usr",
                                 .limits = {.open_files = 33}});
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(child.value().Wait(Soon()).ok());
  EXPECT_EQ(child.value().captured_stdout(), "value\n33\n0\n/usr\n");
}

TEST(Process, CpuLimitEndsAnEndlessLoop) {
  Result<Process> child = Shell("while :; do :; done", {.limits = {.cpu_seconds = 1}});
  ASSERT_TRUE(child.ok());
  Result<ExitStatus> status = child.value().Wait(Deadline::AfterMs(30'000));
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status.value().signal, SIGXCPU);
}

TEST(Process, DestructorKills) {
  pid_t pid = 0;
  {
    Result<Process> child = Shell("sleep 100");
    ASSERT_TRUE(child.ok());
    pid = child.value().pid();
  }
  EXPECT_NE(kill(pid, 0), 0);
}

}  // namespace
}  // namespace kuafu::os
