// SPDX-License-Identifier: Apache-2.0
// Sampled calls seen from the host: copies take the unknown with them, and a host that looks at it
// ends what can be said. Method: bytes are made unknown by hand, on a session without kernels.
#include <gtest/gtest.h>

#include <vector>

#include "device/profile.h"
#include "hostabi/report.h"
#include "hostabi/session.h"
#include "hostabi/tensors.h"

extern "C" {
int cudaMalloc(void** out, size_t bytes);
int cudaMemcpy(void* dst, const void* src, size_t bytes, int kind);
int cudaMemset(void* dst, int value, size_t bytes);
}

namespace kuafu::hostabi {
namespace {

constexpr int kToDevice = 1, kToHost = 2, kOnDevice = 3;

class CallSamplingTest : public ::testing::Test {
 protected:
  CallSamplingTest()
      : session_({.profile = device::FindProfile("h100"), .memory_bytes = size_t{1} << 20}) {
    SetCurrent(&session_);
    session_.Begin(0, {.on = true, .seed = 3, .launch_lanes = 100, .call_lanes = 1000});
  }
  static uint8_t* Device(size_t bytes) {
    void* p = nullptr;
    EXPECT_EQ(cudaMalloc(&p, bytes), 0);
    EXPECT_EQ(cudaMemset(p, 0, bytes), 0);
    return static_cast<uint8_t*>(p);
  }
  bool Known(const void* p, size_t bytes) { return session_.memory().Known(p, bytes); }
  Session session_;
};

TEST_F(CallSamplingTest, CopiesOnTheDeviceTakeTheUnknownWithThem) {
  uint8_t* a = Device(64);
  uint8_t* b = Device(64);
  session_.memory().SetKnown(a + 8, 4, false);
  ASSERT_EQ(cudaMemcpy(b, a, 64, kOnDevice), 0);
  EXPECT_TRUE(Known(b, 8));
  EXPECT_FALSE(Known(b + 8, 1));
  EXPECT_TRUE(Known(b + 12, 52));
  EXPECT_EQ(session_.blind(), "");
}

TEST_F(CallSamplingTest, WhatTheHostWritesIsKnownAgain) {
  uint8_t* a = Device(64);
  const std::vector<uint8_t> host(32, 1);
  session_.memory().SetKnown(a, 64, false);
  ASSERT_EQ(cudaMemcpy(a, host.data(), 32, kToDevice), 0);
  EXPECT_TRUE(Known(a, 32));
  ASSERT_EQ(cudaMemset(a + 40, 0, 8), 0);
  EXPECT_TRUE(Known(a + 40, 8));
  EXPECT_FALSE(Known(a + 32, 8));
}

// Its next launches may depend on what it has read: nobody can say what they would be.
TEST_F(CallSamplingTest, AHostThatReadsTheUnknownEndsWhatCanBeSaid) {
  uint8_t* a = Device(64);
  std::vector<uint8_t> host(64);
  session_.memory().SetKnown(a + 60, 1, false);
  ASSERT_EQ(cudaMemcpy(host.data(), a, 32, kToHost), 0);
  EXPECT_EQ(session_.blind(), "") << "these bytes are known";
  ASSERT_EQ(cudaMemcpy(host.data(), a, 64, kToHost), 0);
  EXPECT_NE(session_.blind(), "");
  session_.AddFinding({.message = "of no account"});
  EXPECT_TRUE(session_.findings().empty());
  session_.Begin(0);
  EXPECT_EQ(session_.blind(), "");
}

TEST_F(CallSamplingTest, MemoryThatIsNotThereAtThisSizeIsNoFault) {
  void* p = nullptr;
  EXPECT_NE(cudaMalloc(&p, size_t{2} << 20), 0);
  EXPECT_NE(session_.blind().find("MiB of device memory"), std::string::npos);
}

TEST_F(CallSamplingTest, ElementsWithAnUnknownByteAreFlagged) {
  const std::vector<int64_t> sizes = {4};
  KuafuTensor* t = kuafu_tensor_new(1, sizes.data(), nullptr, KUAFU_FLOAT32, 0);
  auto* data = static_cast<uint8_t*>(kuafu_tensor_data(t));
  ASSERT_EQ(cudaMemset(data, 0, 12), 0);  // the last one is never written
  session_.memory().SetKnown(data + 5, 1, false);
  const KnownElements known = Knowledge(session_, t);
  EXPECT_EQ(known.flags, (std::vector<uint8_t>{1, 0, 1, 1}));
  EXPECT_EQ(known.count, 3u);
  EXPECT_EQ(known.never_written, 4u);
  EXPECT_DOUBLE_EQ(session_.Coverage(AllocationId(t)), 15.0 / 16);
  kuafu_tensor_release(t);
}

TEST_F(CallSamplingTest, TheAnswerSaysWhatIsKnown) {
  const std::vector<int64_t> sizes = {4};
  KuafuTensor* t = kuafu_tensor_new(1, sizes.data(), nullptr, KUAFU_FLOAT32, 0);
  ASSERT_EQ(cudaMemset(kuafu_tensor_data(t), 0, 16), 0);
  Answers answers;
  Outcome outcome;
  outcome.outputs.push_back({.tensor = t});
  auto answer = answers.Make(session_, 0, 0, outcome);
  ASSERT_TRUE(answer.ok());
  const Json& json = answer.value().json;
  EXPECT_EQ(json.at("outputs")[0].at("known_at").get<int>(), 64);
  EXPECT_EQ(json.at("sampling").at("blind").get<std::string>(), "");
  session_.Begin(0);
  answer = answers.Make(session_, 0, 0, outcome);
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(answer.value().json.contains("sampling"));
  kuafu_tensor_release(t);
}

}  // namespace
}  // namespace kuafu::hostabi
