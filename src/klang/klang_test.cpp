// SPDX-License-Identifier: Apache-2.0
#include "klang/klang.h"
#include <gtest/gtest.h>
TEST(KlangTest, Placeholder) {}
