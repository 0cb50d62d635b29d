// SPDX-License-Identifier: Apache-2.0
// Goal: limits on reading hold, writing is all or nothing, removal does not follow links; clocks
// and deadlines. Method: real files in a temporary directory.
#include "os/file.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>
#include <cstdlib>

#include "os/clock.h"

namespace kuafu::os {
namespace {

class FileTest : public testing::Test {
 protected:
  FileTest() : dir_(TempDir::Create("test").value()) {}
  TempDir dir_;
};

TEST_F(FileTest, ReadsUpToTheLimit) {
  std::string path = dir_.File("a");
  ASSERT_TRUE(WriteFileAtomic(path, "12345").ok());
  EXPECT_EQ(ReadFile(path, 5).value(), "12345");
  Result<std::string> cut = ReadFile(path, 4);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code, Code::kExhausted);
  EXPECT_EQ(ReadFile(dir_.File("absent"), 5).error().code, Code::kNotFound);
}

TEST_F(FileTest, RefusesWhatCouldBlock) {
  ASSERT_EQ(mkfifo(dir_.File("fifo").c_str(), 0600), 0);
  EXPECT_EQ(ReadFile(dir_.File("fifo"), 5).error().code, Code::kInvalidInput);
  EXPECT_EQ(ReadFile(dir_.path(), 5).error().code, Code::kInvalidInput);
  EXPECT_EQ(ReadFile("/dev/zero", 5).error().code, Code::kInvalidInput);
}

TEST_F(FileTest, FailedWriteLeavesNothing) {
  EXPECT_FALSE(WriteFileAtomic(dir_.File("no/such/dir"), "x").ok());
  ASSERT_TRUE(MakeDirs(dir_.File("d")).ok());
  EXPECT_FALSE(WriteFileAtomic(dir_.File("d"), "x").ok());  // a directory is in the way
  EXPECT_EQ(ListDir(dir_.path()).value(), (std::vector<std::string>{"d"}));
}

TEST_F(FileTest, ListIsSortedAndLimited) {
  for (const char* name : {"c", "a", "b"}) {
    ASSERT_TRUE(WriteFileAtomic(dir_.File(name), "").ok());
  }
  EXPECT_EQ(ListDir(dir_.path()).value(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(ListDir(dir_.path(), 2).error().code, Code::kExhausted);
}

TEST_F(FileTest, RemoveTreeKeepsWhatLinksPointTo) {
  ASSERT_TRUE(MakeDirs(dir_.File("keep")).ok());
  ASSERT_TRUE(WriteFileAtomic(dir_.File("keep/file"), "x").ok());
  ASSERT_TRUE(MakeDirs(dir_.File("tree/deep/deeper")).ok());
  ASSERT_EQ(symlink(dir_.File("keep").c_str(), dir_.File("tree/link").c_str()), 0);
  ASSERT_TRUE(RemoveTree(dir_.File("tree")).ok());
  EXPECT_FALSE(FileExists(dir_.File("tree")));
  EXPECT_TRUE(FileExists(dir_.File("keep/file")));
  EXPECT_TRUE(RemoveTree(dir_.File("tree")).ok());
}

TEST_F(FileTest, TempDirRemovesItself) {
  std::string path;
  {
    TempDir inner = TempDir::Create("test").value();
    path = inner.path();
    ASSERT_TRUE(WriteFileAtomic(inner.File("x"), "x").ok());
  }
  EXPECT_FALSE(FileExists(path));
}

TEST_F(FileTest, AppendAddsAtTheEnd) {
  ASSERT_TRUE(AppendFile(dir_.File("log"), "a\n").ok());
  ASSERT_TRUE(AppendFile(dir_.File("log"), "b\n").ok());
  EXPECT_EQ(ReadFile(dir_.File("log"), 10).value(), "a\nb\n");
}

TEST(Path, Parts) {
  EXPECT_EQ(JoinPath("/a/", "b"), "/a/b");
  EXPECT_EQ(BaseName("/a/b.cu"), "b.cu");
  EXPECT_EQ(DirName("/a"), "/");
  EXPECT_EQ(DirName("a"), ".");
  EXPECT_TRUE(FileExists(ExecutablePath().value()));
}

TEST(Clock, DeadlineFollowsItsClock) {
  FakeClock clock;
  Deadline deadline = Deadline::After(clock, 10 * kNsPerMs);
  EXPECT_FALSE(deadline.Expired());
  EXPECT_EQ(deadline.PollTimeoutMs(), 11);
  clock.AdvanceNs(10 * kNsPerMs);
  EXPECT_TRUE(deadline.Expired());
  EXPECT_EQ(deadline.PollTimeoutMs(), 0);
  EXPECT_FALSE(Deadline::Infinite().Expired());
  EXPECT_EQ(Deadline::Infinite().PollTimeoutMs(), -1);
  EXPECT_FALSE(Deadline::After(clock, INT64_MAX).Expired());
  EXPECT_EQ(FormatWallTime(1'700'000'000 * kNsPerSecond), "2023-11-14T22:13:20Z");
}

struct WaitsAtTheEnd {
  ~WaitsAtTheEnd() { static_cast<void>(Deadline::AfterMs(1).Expired()); }
};

TEST(Clock, OutlivesObjectsThatEndWithTheProcess) {
  // A new process, in which the clock is asked for the first time after such an object exists.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static WaitsAtTheEnd waits;
        static_cast<void>(SystemClock().NowNs());
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace kuafu::os
