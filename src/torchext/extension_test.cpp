// SPDX-License-Identifier: Apache-2.0
#include "torchext/extension.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace kuafu::torchext {
namespace {

class ExtensionTest : public ::testing::Test {
 protected:
  ExtensionTest() { hostabi::SetCurrent(&session_); }

  Json Tensor(int64_t count) {
    auto block = session_.memory().Allocate(static_cast<size_t>(count) * 4, 256, "x", true);
    EXPECT_TRUE(block.ok());
    return {{"base", reinterpret_cast<uint64_t>(block.value())},
            {"bytes", count * 4},
            {"dtype", "f32"},
            {"shape", {count}},
            {"strides", {1}},
            {"offset", 0},
            {"cpu", false}};
  }
  Result<Json> CallWith(KuafuInvoker invoke, const Json& arguments) {
    KuafuModule module;
    kuafu_module_def(&module, "f", invoke, nullptr, 0, nullptr);
    return Call(session_, module.functions.at(0), arguments);
  }

  hostabi::Session session_{{}};
};

TEST_F(ExtensionTest, ValuesOfEveryKindArriveAsTheyWere) {
  const auto invoke = [](void*, KuafuCall* call) {
    ASSERT_EQ(call->argument_count, 8);
    const KuafuValue* v = call->arguments;
    EXPECT_EQ(v[0].kind, KUAFU_NONE);
    EXPECT_EQ(v[1].integer, -3);
    EXPECT_EQ(v[2].real, 0.1);
    EXPECT_EQ(v[3].kind, KUAFU_BOOLEAN);
    EXPECT_EQ(std::string(v[4].string, static_cast<size_t>(v[4].count)), "text");
    EXPECT_EQ(v[5].integers[1], 2);
    EXPECT_EQ(v[6].reals[0], 0.5);
    EXPECT_EQ(v[7].kind, KUAFU_TENSOR);
    call->values[0] = {.kind = KUAFU_REAL, .real = 0.1};
    call->result_count = 1;
    call->result_form = KUAFU_RESULT_SINGLE;
  };
  const Json arguments = {{{"n", nullptr}},  {{"i", -3}},       {{"r", "0x1.999999999999ap-4"}},
                          {{"b", true}},     {{"s", "text"}},   {{"l", {1, 2}}},
                          {{"rl", {"0.5"}}}, {{"t", Tensor(4)}}};
  const Result<Json> result = CallWith(invoke, arguments);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result.value()["status"], "ok");
  EXPECT_EQ(result.value()["values"][0]["r"], "0x1.999999999999ap-4");
}

TEST_F(ExtensionTest, ArgumentReturnedIsAnAliasAndKeepsNoReference) {
  const auto invoke = [](void*, KuafuCall* call) {
    call->values[0] = {.kind = KUAFU_TENSOR,
                       .tensor = kuafu_tensor_retain(call->arguments[0].tensor)};
    call->result_count = 1;
    call->result_form = KUAFU_RESULT_SINGLE;
  };
  const Json arguments = Json::array({{{"t", Tensor(4)}}});
  const Result<Json> result = CallWith(invoke, arguments);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value()["values"][0]["t"]["alias"], 0);
  EXPECT_EQ(result.value()["kept"][0], false);
}

TEST_F(ExtensionTest, ReferenceThatTheCalleeKeepsIsReported) {
  static KuafuTensor* kept = nullptr;
  const auto invoke = [](void*, KuafuCall* call) {
    kept = kuafu_tensor_retain(call->arguments[0].tensor);
  };
  const Result<Json> result = CallWith(invoke, Json::array({{{"t", Tensor(4)}}}));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value()["kept"][0], true);
  kuafu_tensor_release(kept);
}

TEST_F(ExtensionTest, ResultThatIsNoTensorIsRefusedAndNotRead) {
  const auto invoke = [](void*, KuafuCall* call) {
    call->values[0] = {.kind = KUAFU_TENSOR, .tensor = reinterpret_cast<KuafuTensor*>(64)};
    call->result_count = 1;
  };
  const Result<Json> result = CallWith(invoke, Json::array());
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value()["status"], "threw");
}

TEST_F(ExtensionTest, TensorOutsideTheDeviceOrItsStorageIsRefused) {
  const auto invoke = [](void*, KuafuCall*) {};
  Json far = Tensor(4);
  far["shape"] = {1000};
  EXPECT_FALSE(CallWith(invoke, Json::array({{{"t", far}}})).ok());
  Json host = Tensor(4);
  host["base"] = 4096;
  EXPECT_FALSE(CallWith(invoke, Json::array({{{"t", host}}})).ok());
  EXPECT_FALSE(CallWith(invoke, Json::array({{{"q", 1}}})).ok());
  EXPECT_FALSE(CallWith(invoke, Json::array({3})).ok());
}

TEST_F(ExtensionTest, TensorOnTheHostArrivesAndLeavesAsOne) {
  const auto invoke = [](void*, KuafuCall* call) {
    KuafuTensor* x = call->arguments[0].tensor;
    const int64_t size = 3;
    KuafuTensor* made =
        kuafu_tensor_new(1, &size, nullptr, KUAFU_INT32, KUAFU_TENSOR_HOST | KUAFU_TENSOR_ZERO);
    KuafuTensor* moved = kuafu_tensor_to_place(x, 0);
    if (kuafu_tensor_is_cuda(x) == 0 && kuafu_tensor_is_cuda(moved) == 1) {
      for (KuafuTensor* t : {x, made, moved}) kuafu_call_return(call, t);
    }
    kuafu_tensor_release(made);
    kuafu_tensor_release(moved);
  };
  float values[4] = {1, 2, 3, 4};
  Json x = Tensor(4);
  x["base"] = reinterpret_cast<uint64_t>(values);
  x["cpu"] = true;
  const auto result = CallWith(invoke, Json::array({{{"t", x}}}));
  ASSERT_TRUE(result.ok());
  const Json& results = result.value()["values"];
  ASSERT_EQ(results.size(), 3u) << result.value().dump();
  EXPECT_EQ(results[0]["t"]["alias"], 0);
  EXPECT_EQ(results[0]["t"]["cpu"], true);
  EXPECT_EQ(results[1]["t"]["cpu"], true);
  EXPECT_EQ(results[2]["t"]["cpu"], false);
  const auto* moved = reinterpret_cast<const float*>(results[2]["t"]["base"].get<uint64_t>());
  EXPECT_EQ(moved[3], 4);
  for (const size_t i : {1, 2})
    kuafu_tensor_release(reinterpret_cast<KuafuTensor*>(results[i]["t"]["handle"].get<uint64_t>()));
}

TEST_F(ExtensionTest, MoreResultsThanThereIsRoomForAreCut) {
  const auto invoke = [](void*, KuafuCall* call) { call->result_count = 1 << 30; };
  EXPECT_TRUE(CallWith(invoke, Json::array()).ok());
}

TEST_F(ExtensionTest, DefaultsAreDescribedInTheFormInWhichTheyArePassed) {
  KuafuModule module;
  const KuafuParameter rows[] = {
      {.name = "x"}, {.name = "eps", .has_default = 1, .value = {.kind = KUAFU_REAL, .real = 0.5}}};
  kuafu_module_def(&module, "norm", [](void*, KuafuCall*) {}, nullptr, 2, rows);
  const Json described = Describe(module);
  EXPECT_EQ(described["functions"][0]["name"], "norm");
  EXPECT_FALSE(described["functions"][0]["parameters"][0].contains("default"));
  EXPECT_EQ(described["functions"][0]["parameters"][1]["default"]["r"], "0x1p-1");
}

}  // namespace
}  // namespace kuafu::torchext
