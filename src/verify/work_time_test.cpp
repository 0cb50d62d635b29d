// SPDX-License-Identifier: Apache-2.0
// Goal: the time of a mixed call is the sum of its parts, the host shows on an idle GPU and not in
// a CUDA graph, copies and fills cost time, and what cannot be known says why. Method: lists of
// work made by hand, large enough that their times follow from bytes.
#include "verify/work_time.h"

#include <gtest/gtest.h>

#include "simt/counters_json.h"

namespace kuafu::verify {
namespace {

constexpr int64_t kMiB = 1 << 20;

const device::Profile& H100() { return *device::FindProfile("h100"); }

// Adds two tensors of `bytes` each, all distinct.
Json Add(int64_t bytes) {
  return {{"op", "add"},         {"kind", "elementwise"},       {"dtype", "f32"},
          {"flops", bytes / 4},  {"read", 2 * bytes},           {"written", bytes},
          {"uses", {1, 2}},      {"use_bytes", {bytes, bytes}}, {"makes", {3}},
          {"in", Json::array()}, {"out", Json::array()},        {"views", 0}};
}

Json Side(const Json& operators, const Json& items) {
  return {{"operators",
           {{"version", 1},
            {"operators", operators},
            {"results", Json::array()},
            {"input_bytes", 0},
            {"parameter_bytes", 0},
            {"torch", "1"}}},
          {"items", items}};
}

// As they come from another process: numbers without a sign.
Json Items(const std::string& text) { return ParseJson(text).value(); }

Json Work(const Json& candidate, const Json& reference,
          const std::vector<simt::LaunchCount>& launches = {}) {
  return {{"timing",
           {{"candidate", candidate},
            {"reference", reference},
            {"counters", simt::CountersToJson(launches)}}}};
}

// A launch that streams.
simt::LaunchCount Streaming(uint64_t bytes) {
  simt::LaunchCount launch;
  launch.kernel = "k";
  launch.blocks = bytes / 4096;
  launch.grid[0] = static_cast<uint32_t>(launch.blocks);
  launch.grid[1] = launch.grid[2] = launch.block[1] = launch.block[2] = 1;
  launch.block[0] = 256;
  launch.warps_per_block = 8;
  launch.registers = 16;
  launch.total.load = {.requests = bytes / 128,
                       .sectors = bytes / 32,
                       .lines = bytes / 128,
                       .bytes = bytes,
                       .dram = bytes / 32};
  return launch;
}

TEST(WorkTime, AMixedCallIsTheSumOfItsParts) {
  const Json add = Json::array({Add(256 * kMiB)});
  const Json reference = Side(add, Items(R"([["op", 0, 0]])"));
  const auto op = TimeOf(Work(reference, reference), H100(), HostConstants());
  ASSERT_TRUE(op.known) << op.why;
  EXPECT_EQ(op.kind, WorkKind::kPyTorch);
  EXPECT_DOUBLE_EQ(op.speedup, 1);
  const auto launches = std::vector<simt::LaunchCount>{Streaming(512 * kMiB)};
  const auto own = TimeOf(Work(Side(Json::array(), Items(R"([["call", 0, 0], ["launch", 0, 0]])")),
                               reference, launches),
                          H100(), HostConstants());
  ASSERT_TRUE(own.known) << own.why;
  EXPECT_EQ(own.kind, WorkKind::kKernels);
  EXPECT_GT(own.own_share, 0.9);
  const auto both =
      TimeOf(Work(Side(add, Items(R"([["call", 0, 0], ["launch", 0, 0], ["op", 0, 0]])")),
                  reference, launches),
             H100(), HostConstants());
  ASSERT_TRUE(both.known) << both.why;
  EXPECT_EQ(both.kind, WorkKind::kMixed);
  EXPECT_NEAR(both.ms, own.ms + op.ms, 0.05 * both.ms);
  EXPECT_EQ(both.launches, 1);
  EXPECT_EQ(both.operators, 1);
}

TEST(WorkTime, CopiesAndFillsOfAnExtensionCostTime) {
  const Json reference = Side(Json::array({Add(kMiB)}), Items(R"([["op", 0, 0]])"));
  const auto launches = std::vector<simt::LaunchCount>{Streaming(kMiB)};
  const auto plain =
      TimeOf(Work(Side(Json::array(), Items(R"([["launch", 0, 0]])")), reference, launches), H100(),
             HostConstants());
  const auto filled =
      TimeOf(Work(Side(Json::array(), Items(R"([["fill", 1073741824, 0], ["launch", 0, 0]])")),
                  reference, launches),
             H100(), HostConstants());
  const auto copied =
      TimeOf(Work(Side(Json::array(), Items(R"([["copy", 1073741824, 0], ["launch", 0, 0]])")),
                  reference, launches),
             H100(), HostConstants());
  ASSERT_TRUE(plain.known && filled.known && copied.known);
  // A GiB at 3350 GB/s at best.
  EXPECT_GT(filled.ms, plain.ms + 0.32);
  EXPECT_GT(copied.ms, filled.ms + 0.32);
  EXPECT_EQ(filled.kind, WorkKind::kKernels);
}

TEST(WorkTime, SmallOperationsWaitForTheHostUnlessTheyAreInAGraph) {
  Json many = Json::array(), items = Json::array(), captured = Items(R"([["replay", 0, 0]])");
  for (unsigned i = 0; i < 20; ++i) {
    many.push_back(Add(4096));
    items.push_back({"op", i, 0u});
    captured.push_back({"op", i, 1u});
  }
  const auto t = TimeOf(Work(Side(many, captured), Side(many, items)), H100(), HostConstants());
  ASSERT_TRUE(t.known) << t.why;
  EXPECT_GT(t.speedup, 1.5);
  const HostConstants host;
  EXPECT_GT(t.reference_ms * 1e3, 20 * host[HostConstant::call_us]);
}

TEST(WorkTime, WhatIsMissingOrWrongIsNotKnown) {
  const Json reference = Side(Json::array({Add(kMiB)}), Items(R"([["op", 0, 0]])"));
  EXPECT_EQ(TimeOf(Items(R"({"timing": {"why": "a shape"}})"), H100(), HostConstants()).why,
            "a shape");
  for (const char* items : {R"([["launch", 0, 0]])", R"([["op", 7, 0]])", R"([["op", -1, 0]])",
                            R"([["other", 0, 0]])", R"(["op"])"}) {
    const auto t =
        TimeOf(Work(Side(Json::array(), Items(items)), reference), H100(), HostConstants());
    EXPECT_FALSE(t.known) << items;
    EXPECT_FALSE(t.why.empty());
  }
  EXPECT_FALSE(TimeOf(Json::object(), H100(), HostConstants()).known);
}

TEST(WorkTime, TheHashNamesTheFrozenConstants) {
  HostConstants changed;
  changed[HostConstant::call_us] *= 2;
  EXPECT_NE(changed.Hash(), HostConstants().Hash());
}

}  // namespace
}  // namespace kuafu::verify
