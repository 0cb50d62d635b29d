// SPDX-License-Identifier: Apache-2.0
// Fuzz target: whatever arrives as a target, an address or a file of keys, the answer is a value or
// an error within the limits. (The rest of a request is parsed by Beast.)
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "http/message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace kuafu;
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  if (auto target = http::ParseTarget(text); target.ok()) {
    KUAFU_CHECK(!target.value().segments.empty(), "a target without a segment");
    KUAFU_CHECK(target.value().segments.size() <= http::kSegmentsMax, "too many segments");
    KUAFU_CHECK(target.value().query.size() <= http::kQueryItemsMax, "too many parts of a query");
    for (const std::string& segment : target.value().segments) {
      KUAFU_CHECK(IsUtf8(segment), "a segment that is not UTF-8");
      KUAFU_CHECK(segment.find('\0') == std::string::npos, "a segment with NUL");
    }
  }
  static_cast<void>(http::ParseEndpoint(text).ok());
  if (auto keys = http::ParseKeys(text); keys.ok()) {
    http::Request request;
    request.headers = {{"authorization", "Bearer " + keys.value().front()}};
    KUAFU_CHECK(http::BearerMatches(request, keys.value()), "a key that does not match itself");
  }
  http::Request request;
  request.headers = {{"Authorization", std::string(text)}, {"Content-Type", std::string(text)}};
  KUAFU_CHECK(!http::BearerMatches(request, {}), "a match without a key");
  static_cast<void>(http::HasJsonType(request));
  return 0;
}
