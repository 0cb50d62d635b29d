// SPDX-License-Identifier: Apache-2.0
// JSON: nlohmann-json with ordered keys, so that what we write is stable, and a parse that cannot
// throw and cannot be made to recurse or allocate without bound.
//
//   KUAFU_TRY(Json document, ParseJson(text));
//   KUAFU_TRY(std::string name, JsonString(document, "name"));
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/result.h"

namespace kuafu {

using Json = nlohmann::ordered_json;

// Rejects more than `bytes_max` bytes, more than kJsonDepthMax levels, invalid UTF-8 and duplicate
// keys.
Result<Json> ParseJson(std::string_view text, int64_t bytes_max = kJsonBytesMax);

// One line, or indented by `indent` spaces when positive. Invalid UTF-8 in strings is replaced, so
// this never fails whatever a candidate has printed.
std::string DumpJson(const Json& document, int indent = 0);

// Field access that returns an error naming the key instead of throwing. `object` may be any JSON
// value.
Result<std::string> JsonString(const Json& object, const char* key);
Result<int64_t> JsonInt(const Json& object, const char* key);
Result<double> JsonNumber(const Json& object, const char* key);
Result<bool> JsonBool(const Json& object, const char* key);
// The pointer is into `object`, null when the key is absent; never throws.
const Json* JsonFind(const Json& object, const char* key);
// An object with a key outside `known` is an error: typing mistakes in data files must not pass.
Status JsonOnlyKeys(const Json& object, std::span<const std::string_view> known);

}  // namespace kuafu
