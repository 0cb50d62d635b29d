// SPDX-License-Identifier: Apache-2.0
// Fuzz target: whatever bytes arrive as task.json, the reader answers with a task or an error. What
// it accepts must survive its own writer.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "task/task.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  auto document = kuafu::ParseJson(text, kuafu::task::kTaskBytesMax);
  if (!document.ok()) return 0;
  auto task = kuafu::task::FromJson(document.value());
  if (!task.ok()) return 0;
  const kuafu::Json written = kuafu::task::ToJson(task.value());
  auto parsed = kuafu::ParseJson(kuafu::DumpJson(written), kuafu::kJsonBytesMax);
  KUAFU_CHECK(parsed.ok(), "a written task is not json");
  auto again = kuafu::task::FromJson(parsed.value());
  KUAFU_CHECK(again.ok(), "a written task is refused");
  KUAFU_CHECK(kuafu::DumpJson(kuafu::task::ToJson(again.value())) == kuafu::DumpJson(written),
              "a task changes when read again");
  return 0;
}
