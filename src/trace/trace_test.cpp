// SPDX-License-Identifier: Apache-2.0
// Goal: log lines respect the level and cannot be forged by what they quote; spans form a document
// that profilers read; the progress line fits the terminal.
#include "trace/trace.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "os/thread_pool.h"

namespace kuafu::trace {
namespace {

TEST(Log, LevelAndEscapes) {
  testing::internal::CaptureStderr();
  SetLevel(Level::kInfo);
  Debug("hidden {}", 1);
  Info("seen {}", "a\nerror: forged\x1b[2J");
  SetLevel(Level::kOff);
  LogError("off");
  SetLevel(Level::kWarning);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "info: seen a\\nerror: forged\\x1b[2J\n");
}

TEST(Span, WrittenAsCompleteEvents) {
  {
    Span unrecorded("before");
  }
  RecordSpans(true);
  {
    Span span("compile", {{"file", "a\"b.cu"}});
    int64_t first = span.End();
    EXPECT_EQ(span.End(), first);
  }
  AddSpan("remote", 5000, 2500);
  RecordSpans(false);
  Result<Json> document = ParseJson(SpansAsJson());
  ASSERT_TRUE(document.ok());
  const Json& events = document.value()["traceEvents"];
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["ph"], "X");
  EXPECT_EQ(events[0]["name"], "compile");
  EXPECT_EQ(events[0]["args"]["file"], "a\"b.cu");
  EXPECT_GE(events[0]["dur"].get<double>(), 0);
  EXPECT_EQ(events[1]["ts"], 5.0);
  EXPECT_EQ(events[1]["dur"], 2.5);
}

TEST(Span, SeveralThreadsLoseNone) {
  constexpr int64_t kSpans = 300;
  RecordSpans(true);
  {
    os::ThreadPool pool({.threads = 3, .queue_max = kSpans});
    for (int64_t i = 0; i < kSpans; ++i) pool.Submit([] { Span span("threaded"); });
  }
  RecordSpans(false);
  Result<Json> document = ParseJson(SpansAsJson());
  ASSERT_TRUE(document.ok());
  int64_t found = 0;
  for (const Json& event : document.value()["traceEvents"]) found += event["name"] == "threaded";
  EXPECT_EQ(found, kSpans);
}

TEST(Progress, LineFitsAndCounts) {
  EXPECT_EQ(ProgressLine({.label = "verify",
                          .note = "softmax",
                          .done = 5,
                          .total = 10,
                          .elapsed_ns = 10'000'000'000,
                          .columns = 200}),
            "verify [##########          ] 5/10 10.00 s left 0.5/s softmax");
  EXPECT_EQ(ProgressLine({.label = "build", .done = 3}), "build 3");
  EXPECT_EQ(ProgressLine({.label = "abcdefgh", .done = 3, .columns = 5}), "abcd");
  EXPECT_NE(ProgressLine({.label = "x", .done = 12, .total = 10, .elapsed_ns = 1}).find("####"),
            std::string::npos);
}

TEST(Progress, SilentWithoutATerminal) {
  testing::internal::CaptureStderr();
  {
    Progress progress("verify", 10);
    progress.Update(10);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace kuafu::trace
