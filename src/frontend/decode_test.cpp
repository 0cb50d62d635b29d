// SPDX-License-Identifier: Apache-2.0
// Goal: no answer of the helper, however wrong, is taken. Method: one good answer, and mutations of
// every field that another process could use to make us read outside of its memory.
#include "frontend/decode.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/json.h"
#include "os/memfd.h"

namespace kuafu::frontend {
namespace {

os::UniqueFd Sealed(int64_t bytes) {
  os::UniqueFd fd = os::CreateMemfd("test", bytes).value();
  if (bytes > 0) {
    os::Mapping map = os::MapFd(fd.get(), bytes, os::Access::kReadWrite).value();
    for (size_t i = 0; i < map.bytes().size() / 8; ++i) {
      const auto value = static_cast<double>(i);
      std::memcpy(map.bytes().data() + i * 8, &value, 8);
    }
  }
  EXPECT_TRUE(os::SealAll(fd.get()).ok());
  return fd;
}

// x [2, 3] with a row stride of 4 in a storage of 8 floats at 256; y [2] at 0, tables at 16 and 32.
Json Good() {
  return ParseJson(
             R"({"version": 1, "inputs_mutated": false, "dropout_off": true, "forward_draws": true,
    "sizes": {"rows": 3},
    "notes": ["n"],
    "task": {"version": 1, "name": "t", "source_hash": "h", "reduction_max": 3,
      "arguments": [
        {"name": "x", "origin": "input", "dtype": "f32", "shape": [2, 3], "value": null},
        {"name": "eps", "origin": "scalar", "dtype": "f64", "shape": [], "value": 0.5}],
      "trace": [], "outputs": [{"name": "y", "dtype": "f32", "shape": [2]}]},
    "trials": [{"shape_label": "nominal", "shape_text": "x [2, 3]", "value_class": "normal",
      "seed": "5", "sampled": false, "model_seed": "6", "init_json": "{}",
      "arguments": [{"t": "f32", "shape": [2, 3], "strides": [4, 1], "offset": 1, "at": 256,
                     "bytes": 32}, {"r": "0.5"}],
      "outputs": [{"name": "y", "dtype": "f32", "shape": [2], "argument": -1, "k": 3,
                   "exact": false, "rows": 1, "at": 0, "e32_at": 16, "s_at": 24,
                   "other_inputs_at": 8, "other_parameters_at": -1}]}]})")
      .value();
}

Result<TrialSet> Decode(const Json& reply) {
  return DecodeReply(DumpJson(reply), Sealed(288), Sealed(32));
}

TEST(Decode, GoodAnswer) {
  auto set = Decode(Good());
  ASSERT_TRUE(set.ok()) << set.error().message;
  const Trial& trial = set.value().trials.at(0);
  EXPECT_EQ(trial.seed, 5u);
  EXPECT_EQ(trial.model_seed, 6u);
  EXPECT_EQ(trial.init_json, "{}");
  EXPECT_EQ(task::InputCount(set.value().task), 1);
  EXPECT_EQ(trial.arguments[0].strides, (tensor::Shape{4, 1}));
  EXPECT_EQ(trial.arguments[1].real, 0.5);
  EXPECT_EQ(trial.outputs[0].expected.y64.At(1), 1.0);
  EXPECT_EQ(trial.outputs[0].expected.e32.at(0), 2.0);
  EXPECT_EQ(trial.outputs[0].expected.terms_rms.at(0), 3.0);
  ASSERT_TRUE(trial.outputs[0].other_inputs.has_value());
  EXPECT_EQ(trial.outputs[0].other_inputs->At(0), 1.0);
  EXPECT_FALSE(trial.outputs[0].other_parameters.has_value());
  EXPECT_EQ(set.value().inputs_bytes, 288);
}

TEST(Decode, RefusesWhatLiesOutside) {
  const struct {
    const char* pointer;
    Json value;
  } cases[] = {
      {"/trials/0/arguments/0/at", 512},
      {"/trials/0/arguments/0/at", -256},
      {"/trials/0/arguments/0/at", 8},
      {"/trials/0/arguments/0/bytes", 33},
      {"/trials/0/arguments/0/bytes", INT64_MAX},
      {"/trials/0/arguments/0/bytes", 28},
      {"/trials/0/arguments/0/offset", 2},
      {"/trials/0/arguments/0/offset", -1},
      {"/trials/0/arguments/0/offset", INT64_MAX},
      {"/trials/0/arguments/0/strides", {5, 1}},
      {"/trials/0/arguments/0/strides", {-4, 1}},
      {"/trials/0/arguments/0/strides", {INT64_MAX, INT64_MAX}},
      {"/trials/0/arguments/0/strides", {4}},
      {"/trials/0/arguments/0/shape", {3, 3}},
      {"/trials/0/arguments/0/shape", {INT64_MAX, INT64_MAX}},
      {"/trials/0/arguments/0/t", "f31"},
      {"/trials/0/arguments/1", {{"z", 1}}},
      {"/trials/0/outputs/0/at", 24},
      {"/trials/0/outputs/0/at", 4},
      {"/trials/0/outputs/0/at", -8},
      {"/trials/0/outputs/0/shape", {5}},
      {"/trials/0/outputs/0/rows", 3},
      {"/trials/0/outputs/0/rows", -1},
      {"/trials/0/outputs/0/e32_at", 32},
      {"/trials/0/outputs/0/s_at", 1},
      {"/trials/0/outputs/0/other_inputs_at", 24},
      {"/trials/0/outputs/0/other_parameters_at", 4},
      {"/trials/0/outputs/0/argument", 2},
      {"/trials/0/outputs/0/argument", 1},
      {"/trials/0/outputs/0/k", 0},
      {"/trials/0/arguments", Json::array()},
      {"/trials/0/outputs", Json::array()},
      {"/trials/0/seed", 5},
      {"/trials/0/model_seed", "x"},
      {"/trials/0/init_json", nullptr},
      {"/trials/0/init_json", std::string(70'000, ' ')},
      {"/trials", Json::array()},
      {"/task", nullptr},
      {"/dropout_off", 1},
      {"/forward_draws", nullptr},
      {"/sizes", Json::array()},
      {"/notes", {1}},
  };
  for (const auto& c : cases) {
    Json reply = Good();
    reply[Json::json_pointer(c.pointer)] = c.value;
    EXPECT_FALSE(Decode(reply).ok()) << c.pointer << " = " << DumpJson(c.value);
  }
}

TEST(Decode, UnsealedMemoryIsRefused) {
  os::UniqueFd open_ended = os::CreateMemfd("test", 288).value();
  EXPECT_FALSE(DecodeReply(DumpJson(Good()), std::move(open_ended), Sealed(32)).ok());
  const os::UniqueFd truth = os::CreateMemfd("test", 32).value();
  EXPECT_FALSE(DecodeReply(DumpJson(Good()), Sealed(288), truth).ok());
}

TEST(Decode, ErrorsKeepTheirCode) {
  const Json reply = {{"error", {{"code", "exhausted"}, {"message", "too large"}}}};
  auto set = Decode(reply);
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.error().code, Code::kExhausted);
  EXPECT_EQ(set.error().message, "too large");
  EXPECT_FALSE(DecodeReply("{", Sealed(0), Sealed(0)).ok());
}

}  // namespace
}  // namespace kuafu::frontend
