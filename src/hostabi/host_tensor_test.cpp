// SPDX-License-Identifier: Apache-2.0
// Tensors in memory of the host: no kernel can reach them, copies go both ways, and they are not
// taken for memory of the device anywhere. Method: the C functions are called as a candidate would,
// on a session without kernels.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "device/profile.h"
#include "hostabi/session.h"
#include "hostabi/tensors.h"

namespace kuafu::hostabi {
namespace {

// Remembers what was copied where.
class Flow : public DataFlow {
 public:
  void Launched(const std::vector<uint32_t>&, const std::vector<uint32_t>&) override {}
  void Copied(uint32_t to, uint32_t from) override { copies.push_back({to, from}); }
  void Filled(uint32_t to) override { filled.push_back(to); }

  std::vector<std::pair<uint32_t, uint32_t>> copies;
  std::vector<uint32_t> filled;
};

class HostTensor : public ::testing::Test {
 protected:
  HostTensor()
      : session_({.profile = device::FindProfile("h100"), .memory_bytes = size_t{1} << 20}) {
    SetCurrent(&session_);
  }
  KuafuTensor* New(std::vector<int64_t> sizes, uint32_t flags, int32_t dtype = KUAFU_FLOAT32) {
    return kuafu_tensor_new(static_cast<int32_t>(sizes.size()), sizes.data(), nullptr, dtype,
                            flags);
  }
  float* Data(KuafuTensor* t) { return static_cast<float*>(kuafu_tensor_data(t)); }
  Session session_;
};

TEST_F(HostTensor, LiesOutsideTheMemoryOfTheDevice) {
  KuafuTensor* t = New({2, 3}, KUAFU_TENSOR_HOST | KUAFU_TENSOR_ZERO);
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(kuafu_tensor_is_cuda(t), 0);
  EXPECT_EQ(WhereIs(t), Where::kHost);
  EXPECT_EQ(session_.memory().IdOf(reinterpret_cast<uint64_t>(Data(t))), 0u);
  EXPECT_EQ(session_.memory().used_bytes(), 0u);
  EXPECT_EQ(AllocationId(t), 0u);
  EXPECT_EQ(Data(t)[5], 0);
  Data(t)[5] = 7;  // as accessor<> does
  double real = 0;
  int64_t integer = 0;
  const int64_t one = 1, step = 1;
  KuafuTensor* last = kuafu_tensor_as_strided(t, 1, &one, &step, 5);
  ASSERT_EQ(kuafu_tensor_item(last, &real, &integer), 0);
  EXPECT_EQ(real, 7);
  EXPECT_EQ(kuafu_tensor_is_cuda(last), 0);
  EXPECT_TRUE(session_.findings().empty());
  kuafu_tensor_release(last);
  kuafu_tensor_release(t);
}

TEST_F(HostTensor, FillContiguousAndConversionStayOnTheHost) {
  KuafuTensor* t = New({2, 3}, KUAFU_TENSOR_HOST);
  ASSERT_EQ(kuafu_tensor_fill(t, 2.5), 0);
  Data(t)[1] = 9;
  const int64_t sizes[] = {3, 2}, strides[] = {1, 3};
  KuafuTensor* turned = kuafu_tensor_as_strided(t, 2, sizes, strides, 0);
  KuafuTensor* rows = kuafu_tensor_contiguous(turned);
  KuafuTensor* whole = kuafu_tensor_to_dtype(rows, KUAFU_INT32);
  for (KuafuTensor* x : {turned, rows, whole}) EXPECT_EQ(kuafu_tensor_is_cuda(x), 0);
  EXPECT_EQ(Data(rows)[2], 9);
  EXPECT_EQ(static_cast<int32_t*>(kuafu_tensor_data(whole))[2], 9);
  EXPECT_EQ(static_cast<int32_t*>(kuafu_tensor_data(whole))[0], 2);
  for (KuafuTensor* x : {t, turned, rows, whole}) kuafu_tensor_release(x);
}

TEST_F(HostTensor, CopiesGoBothWaysAndSayWhereTheContentComesFrom) {
  Flow flow;
  session_.data_flow = &flow;
  KuafuTensor* host = New({4}, KUAFU_TENSOR_HOST);
  for (int i = 0; i < 4; ++i) Data(host)[i] = static_cast<float>(i);
  KuafuTensor* device = kuafu_tensor_to_place(host, 0);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(kuafu_tensor_is_cuda(device), 1);
  EXPECT_EQ(Data(device)[3], 3);
  EXPECT_EQ(session_.memory().BytesNeverWritten(Data(device), 16), 0u);
  // From 0: out of host memory.
  ASSERT_EQ(flow.copies.size(), 1u);
  EXPECT_EQ(flow.copies[0], (std::pair<uint32_t, uint32_t>{AllocationId(device), 0}));
  KuafuTensor* back = kuafu_tensor_to_place(device, 1);
  EXPECT_EQ(kuafu_tensor_is_cuda(back), 0);
  EXPECT_NE(Data(back), Data(host));
  EXPECT_EQ(Data(back)[2], 2);
  KuafuTensor* same = kuafu_tensor_to_place(back, 1);
  EXPECT_EQ(same, back);
  Data(host)[0] = 8;
  EXPECT_EQ(kuafu_tensor_copy(device, host), 0);
  EXPECT_EQ(kuafu_tensor_copy(back, device), 0);
  EXPECT_EQ(Data(back)[0], 8);
  EXPECT_EQ(flow.copies.size(), 2u);  // what goes to the host is no content of the device
  for (KuafuTensor* x : {host, device, back, same}) kuafu_tensor_release(x);
  session_.data_flow = nullptr;
}

TEST_F(HostTensor, MemoryOfTheHostIsLimitedAndGivenBack) {
  EXPECT_EQ(New({1 << 19}, KUAFU_TENSOR_HOST), nullptr);  // 2 MiB of 1
  EXPECT_NE(std::strstr(kuafu_tensor_error(), "on the CPU"), nullptr) << kuafu_tensor_error();
  for (int i = 0; i < 8; ++i) {
    KuafuTensor* t = New({1 << 17}, KUAFU_TENSOR_HOST);
    ASSERT_NE(t, nullptr) << i;
    kuafu_tensor_release(t);
  }
}

TEST_F(HostTensor, EmptyOneKeepsItsPlace) {
  KuafuTensor* t = New({0, 3}, KUAFU_TENSOR_HOST);
  EXPECT_EQ(kuafu_tensor_is_cuda(t), 0);
  KuafuTensor* moved = kuafu_tensor_to_place(t, 0);
  EXPECT_EQ(kuafu_tensor_is_cuda(moved), 1);
  kuafu_tensor_release(moved);
  kuafu_tensor_release(t);
}

TEST_F(HostTensor, IsNamedByAnyAddressInIt) {
  KuafuTensor* t = New({4}, KUAFU_TENSOR_HOST);
  const auto at = reinterpret_cast<uint64_t>(Data(t));
  EXPECT_EQ(HostTensorAt(session_, at), "the float32 tensor [4]");
  EXPECT_EQ(HostTensorAt(session_, at + 15), "the float32 tensor [4]");
  EXPECT_EQ(HostTensorAt(session_, at + 16), "");
  kuafu_tensor_release(t);
  EXPECT_EQ(HostTensorAt(session_, at), "");
}

TEST_F(HostTensor, WrappedMemoryIsLeftToItsOwner) {
  float values[4] = {1, 2, 3, 4};
  const TensorLayout layout{KUAFU_FLOAT32, {4}, {1}, 0};
  EXPECT_FALSE(WrapTensor(session_, layout, values, 12, Where::kHost).ok());
  KuafuTensor* t = WrapTensor(session_, layout, values, 16, Where::kHost).value();
  EXPECT_EQ(Data(t), values);
  kuafu_tensor_release(t);
  EXPECT_EQ(values[3], 4);
}

}  // namespace
}  // namespace kuafu::hostabi
