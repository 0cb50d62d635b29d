// SPDX-License-Identifier: Apache-2.0
// Conversions over all 16-bit values, strides, and the limits of views.
#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kuafu::tensor {
namespace {

TEST(DType, SixteenBitFormatsRoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if (!std::isnan(HalfToFloat(half))) {
      ASSERT_EQ(FloatToHalf(HalfToFloat(half)), half);
    }
    if (!std::isnan(BFloatToFloat(half))) {
      ASSERT_EQ(FloatToBFloat(BFloatToFloat(half)), half);
    }
  }
  EXPECT_EQ(FloatToHalf(65519.0F), 0x7bff);
  EXPECT_EQ(FloatToHalf(65520.0F), 0x7c00);
  EXPECT_EQ(FloatToHalf(1.0F + 0x1p-11F), 0x3c00);
  EXPECT_EQ(FloatToHalf(1.0F + 3 * 0x1p-11F), 0x3c02);
}

TEST(HostTensor, StridedViewReadsTransposed) {
  auto base = HostTensor::Create(DType::kF32, {2, 3});
  ASSERT_TRUE(base.ok());
  for (int i = 0; i < 6; ++i) base.value().Set(i, i);
  auto view = HostTensor::View(DType::kF32, {3, 2}, {1, 3}, nullptr, base.value().data(), 24);
  ASSERT_TRUE(view.ok());
  EXPECT_FALSE(view.value().contiguous());
  EXPECT_EQ(view.value().ToDoubles(), (std::vector<double>{0, 3, 1, 4, 2, 5}));
  EXPECT_FALSE(
      HostTensor::View(DType::kF32, {3, 2}, {1, 4}, nullptr, base.value().data(), 24).ok());
  EXPECT_FALSE(HostTensor::Create(DType::kF32, {-1}).ok());
  EXPECT_FALSE(HostTensor::Create(DType::kF32, {int64_t{1} << 40, int64_t{1} << 40}).ok());
}

}  // namespace
}  // namespace kuafu::tensor
