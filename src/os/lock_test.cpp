// SPDX-License-Identifier: Apache-2.0
// Goal: one holder at a time, and none for ever. Method: two calls of one process, which exclude
// each other as those of two processes do.
#include "os/lock.h"

#include <gtest/gtest.h>

#include "os/file.h"

namespace kuafu::os {
namespace {

TEST(LockFile, OneHolderAtATime) {
  TempDir dir = TempDir::Create("test").value();
  const std::string path = dir.File("lock");
  {
    Result<UniqueFd> first = LockFile(path);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(LockFile(path).error().code, Code::kUnavailable);
  }
  EXPECT_TRUE(LockFile(path).ok());
  EXPECT_FALSE(LockFile(dir.File("absent/lock")).ok());
}

}  // namespace
}  // namespace kuafu::os
