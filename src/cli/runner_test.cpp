// SPDX-License-Identifier: Apache-2.0
// kuafu-runner --trials from outside: right answers, and what a candidate's misbehaviour looks
// like. Method: a source is compiled by kuafu-compiler, then a runner is started on a
// channel, as verify does. The requests that must be refused need no candidate.
//
//   cli_runner_test COMPILER RUNNER
#include <gtest/gtest.h>

#include <cstring>

#include "base/json.h"
#include "cli/runner_request.h"
#include "os/channel.h"
#include "os/file.h"
#include "os/memfd.h"
#include "os/process.h"

namespace kuafu::runner {
namespace {

std::string g_compiler, g_runner;

constexpr char kHead[] = R"(#include <torch/extension.h>
__global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = 2.f * x[i];
}
torch::Tensor run(torch::Tensor x) {
  auto y = torch::empty_like(x);
  twice<<<(x.numel() + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), (int)x.numel());
  return y;
}
)";

os::UniqueFd Sealed(std::string_view bytes) {
  auto fd = os::CreateMemfd("test", static_cast<int64_t>(bytes.size()));
  EXPECT_TRUE(fd.ok());
  {
    auto map =
        os::MapFd(fd.value().get(), static_cast<int64_t>(bytes.size()), os::Access::kReadWrite);
    EXPECT_TRUE(map.ok());
    std::memcpy(map.value().bytes().data(), bytes.data(), bytes.size());
  }
  EXPECT_TRUE(os::SealAll(fd.value().get()).ok());
  return std::move(fd).value();
}

std::string RequestText(int trials) {
  Json argument = {{"kind", "tensor"},    {"dtype", "f32"}, {"shape", {4}},
                   {"strides", {1}},      {"offset", 0},    {"storage_at", 0},
                   {"storage_bytes", 16}, {"name", "x"},    {"output", false}};
  Json request = {{"target", "sim:h100"},      {"warp_width", 32},
                  {"sanitize", true},          {"order_seeds", {"0", "17"}},
                  {"max_dispatches", 1000000}, {"memory_bytes", 16 << 20},
                  {"trials", Json::array()}};
  for (int i = 0; i < trials; ++i)
    request["trials"].push_back({{"arguments", Json::array({argument})}, {"skip", false}});
  return DumpJson(request);
}

struct Answers {
  std::vector<Json> frames;
  std::vector<std::vector<float>> outputs;  // of the frames with a descriptor
  os::ExitStatus status;
};

// Compiles head and `entry`, runs `trials` trials on x = {0, 1, 2, 3}.
Answers RunCandidate(const std::string& entry, int trials = 1) {
  Answers answers;
  auto dir = os::TempDir::Create("runner-test");
  EXPECT_TRUE(dir.ok());
  const auto file = [&](const char* name) { return dir.value().File(name); };
  EXPECT_TRUE(os::WriteFileAtomic(file("c.cu"), kHead + entry).ok());
  const auto finish = [](Result<os::Process> process) {
    EXPECT_TRUE(process.ok());
    auto status = process.value().Wait(os::Deadline::AfterMs(100'000));
    EXPECT_TRUE(status.ok() && status.value().ok()) << process.value().captured_stderr();
  };
  finish(os::Spawn({g_compiler, file("c.cu"), "cuda", "900", file("module"), file("c.so")},
                   {.stderr_stream = os::Stream::kCapture}));
  auto module = os::ReadFile(file("module"), kFrameBytesMax);
  auto library = os::ReadFile(file("c.so"), kFrameBytesMax);
  EXPECT_TRUE(module.ok() && library.ok());
  if (!module.ok() || !library.ok()) return answers;
  auto pair = os::CreateChannelPair();
  EXPECT_TRUE(pair.ok());
  os::Channel& channel = pair.value().ours;
  auto runner = os::Spawn(
      {g_runner, "--trials"},
      {.inherited_fds = {{pair.value().theirs.get(), 3}}, .stderr_stream = os::Stream::kNull});
  EXPECT_TRUE(runner.ok());
  pair.value().theirs.Reset();
  const float x[] = {0, 1, 2, 3};
  const os::UniqueFd fds[] = {Sealed(module.value()), Sealed(library.value()),
                              Sealed({reinterpret_cast<const char*>(x), sizeof x})};
  const int raw[] = {fds[0].get(), fds[1].get(), fds[2].get()};
  const os::Deadline deadline = os::Deadline::AfterMs(60'000);
  EXPECT_TRUE(channel.Send(RequestText(trials), raw, deadline).ok());
  for (;;) {
    auto frame = channel.Receive(kFrameBytesMax, deadline);
    if (!frame.ok()) break;
    auto json = ParseJson(frame.value().bytes);
    if (!json.ok()) break;  // a candidate wrote to the channel
    answers.frames.push_back(json.value());
    for (const os::UniqueFd& fd : frame.value().fds) {
      EXPECT_TRUE(os::CheckSealed(fd.get(), 0).ok());
      const int64_t bytes = os::FdSize(fd.get()).value();
      auto map = os::MapFd(fd.get(), bytes, os::Access::kReadOnly);
      std::vector<float> values(static_cast<size_t>(bytes) / 4);
      std::memcpy(values.data(), map.value().bytes().data(), values.size() * 4);
      answers.outputs.push_back(values);
    }
    if (JsonFind(json.value(), "done") != nullptr) break;
  }
  auto status = runner.value().Wait(os::Deadline::AfterMs(60'000));
  EXPECT_TRUE(status.ok());
  if (status.ok()) answers.status = status.value();
  return answers;
}

TEST(RunnerRequest, WhatItAcceptsAndRefuses) {
  EXPECT_TRUE(ParseRequest(RequestText(2)).ok());
  const Json good = ParseJson(RequestText(1)).value();
  const auto refused = [&](const char* pointer, const Json& value) {
    Json bad = good;
    bad[nlohmann::json_pointer<std::string>(pointer)] = value;
    return !ParseRequest(DumpJson(bad)).ok();
  };
  EXPECT_TRUE(refused("/target", "cuda:0"));
  EXPECT_TRUE(refused("/warp_width", 33));
  EXPECT_TRUE(refused("/memory_bytes", -1));
  EXPECT_TRUE(refused("/order_seeds/0", 0));
  EXPECT_TRUE(refused("/trials/0/arguments/0/dtype", "f8"));
  EXPECT_TRUE(refused("/trials/0/arguments/0/storage_at", INT64_MAX));
  EXPECT_TRUE(refused("/trials/0/arguments/0/kind", "pointer"));
  EXPECT_FALSE(ParseRequest("[]").ok());
}

TEST(Runner, EveryTrialAndOrderIsAnswered) {
  const Answers a = RunCandidate("", 2);
  ASSERT_EQ(a.frames.size(), 5u);
  ASSERT_EQ(a.outputs.size(), 2u);  // the second order of each is the same
  EXPECT_EQ(a.outputs[1], (std::vector<float>{0, 2, 4, 6}));
  EXPECT_EQ(a.frames[0]["status"], "ok");
  EXPECT_EQ(a.frames[0]["outputs"][0]["dtype"], "f32");
  EXPECT_EQ(a.frames[0]["outputs"][0]["never_written"], 0);
  EXPECT_EQ(a.frames[1]["same"], true);
  EXPECT_TRUE(a.frames[0]["findings"].empty());
  EXPECT_EQ(a.frames[0]["counters"]["launches"], 1);
  EXPECT_EQ(a.frames[0]["leaked_bytes"], 0);
  EXPECT_EQ(a.frames[4]["done"], true);
  EXPECT_TRUE(a.status.ok());
}

TEST(Runner, ReturningAnInputOrAViewIsAllowed) {
  const Answers a = RunCandidate("torch::Tensor f(torch::Tensor x) { return x.view({2, 2}).t(); }");
  ASSERT_EQ(a.outputs.size(), 1u);
  EXPECT_EQ(a.outputs[0], (std::vector<float>{0, 2, 1, 3}));
  EXPECT_EQ(a.frames[0]["outputs"][0]["shape"], Json({2, 2}));
}

TEST(Runner, StaticTensorsLiveThroughTheTrials) {
  const Answers a = RunCandidate(R"(torch::Tensor f(torch::Tensor x) {
    static torch::Tensor kept = run(x);
    return kept; })",
                                 3);
  ASSERT_EQ(a.frames.size(), 7u);
  EXPECT_EQ(a.outputs.back(), (std::vector<float>{0, 2, 4, 6}));
  EXPECT_TRUE(a.status.ok());
}

TEST(Runner, UnwrittenOutputsModifiedInputsAndOverrunsAreSeen) {
  const Answers a = RunCandidate(R"(torch::Tensor f(torch::Tensor x) {
    x.fill_(1);
    char* volatile p = (char*)x.data_ptr();
    p[17] = 0;
    return torch::empty_like(x); })");
  ASSERT_GE(a.frames.size(), 1u);
  EXPECT_EQ(a.frames[0]["outputs"][0]["never_written"], 16);
  EXPECT_EQ(a.frames[0]["inputs_modified"], Json::array({"x"}));
  ASSERT_EQ(a.frames[0]["findings"].size(), 1u);
  EXPECT_EQ(a.frames[0]["findings"][0]["kind"], "host_overrun");
  EXPECT_EQ(a.frames[0]["findings"][0]["class"], "oob");
}

TEST(Runner, MismatchAndExceptionAreAnswers) {
  const Answers mismatch = RunCandidate("torch::Tensor f(torch::Tensor x, int n) { return x; }");
  ASSERT_GE(mismatch.frames.size(), 1u);
  EXPECT_EQ(mismatch.frames[0]["status"], "mismatch");
  const Answers threw =
      RunCandidate("torch::Tensor f(torch::Tensor x) { TORCH_CHECK(false, \"why\"); }");
  ASSERT_GE(threw.frames.size(), 1u);
  EXPECT_EQ(threw.frames[0]["status"], "threw");
  EXPECT_NE(threw.frames[0]["error"].get<std::string>().find("why"), std::string::npos);
  EXPECT_TRUE(threw.status.ok());
}

TEST(Runner, TooManyResultsAreRefused) {
  const Answers a = RunCandidate(R"(std::vector<torch::Tensor> f(torch::Tensor x) {
    return std::vector<torch::Tensor>(65, x); })");
  ASSERT_GE(a.frames.size(), 1u);
  EXPECT_EQ(a.frames[0]["status"], "threw");
}

TEST(Runner, DeviceMemoryIsLimited) {
  const Answers a = RunCandidate(
      "torch::Tensor f(torch::Tensor x) { return torch::empty({1 << 23}, x.options()); }");
  ASSERT_GE(a.frames.size(), 1u);
  EXPECT_EQ(a.frames[0]["status"], "threw");
  EXPECT_NE(a.frames[0]["error"].get<std::string>().find("device memory"), std::string::npos);
}

TEST(Runner, EndingEarlyIsNotAnAnswer) {
  const Answers exits = RunCandidate("torch::Tensor f(torch::Tensor x) { exit(0); }");
  EXPECT_TRUE(exits.frames.empty());
  const Answers faults =
      RunCandidate("torch::Tensor f(torch::Tensor x) { *(volatile int*)8 = 1; return x; }");
  EXPECT_TRUE(faults.frames.empty());
  EXPECT_EQ(faults.status.signal, 11);
  const Answers garbage = RunCandidate(R"(extern "C" long write(int, const void*, unsigned long);
    torch::Tensor f(torch::Tensor x) { write(3, "\4\0\0\0oops", 8); return x; })");
  EXPECT_TRUE(garbage.frames.empty());
}

}  // namespace
}  // namespace kuafu::runner

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 3) return 2;
  kuafu::runner::g_compiler = argv[1];
  kuafu::runner::g_runner = argv[2];
  return RUN_ALL_TESTS();
}
