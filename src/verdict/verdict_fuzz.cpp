// SPDX-License-Identifier: Apache-2.0
// Fuzz target: whatever bytes arrive as a verdict, the reader answers with a verdict or an error.
// What it accepts can be printed and survives its own writer.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "verdict/verdict.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  auto document = kuafu::ParseJson(text);
  if (!document.ok()) return 0;
  auto verdict = kuafu::verdict::FromJson(document.value());
  if (!verdict.ok()) return 0;
  KUAFU_CHECK(!kuafu::verdict::ToText(verdict.value()).empty(), "a verdict has no text");
  const kuafu::Json written = kuafu::verdict::ToJson(verdict.value());
  auto parsed = kuafu::ParseJson(kuafu::DumpJson(written));
  KUAFU_CHECK(parsed.ok(), "a written verdict is not json");
  auto again = kuafu::verdict::FromJson(parsed.value());
  KUAFU_CHECK(again.ok(), "a written verdict is refused");
  KUAFU_CHECK(kuafu::DumpJson(kuafu::verdict::ToJson(again.value())) == kuafu::DumpJson(written),
              "a verdict changes when read again");
  return 0;
}
