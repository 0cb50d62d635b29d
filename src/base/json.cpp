// SPDX-License-Identifier: Apache-2.0
// The parse uses the library's SAX interface with exceptions off: depth and duplicates are refused
// while reading, before anything is built from them.
#include "base/json.h"

#include <set>
#include <utility>
#include <vector>

#include "base/text.h"

namespace kuafu {
namespace {

// Checks what the DOM parser does not: depth and duplicate keys. Building twice is cheaper than a
// DOM builder of our own, and the first pass allocates only key names.
class Checker : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return Enter(); }
  bool start_array(std::size_t) override { return Enter(); }
  bool end_object() override { return Leave(); }
  bool end_array() override { return Leave(); }
  bool key(string_t& name) override {
    if (keys_.back().insert(name).second) return true;
    error_ = "key '" + EscapeForMessage(name, 60) + "' appears twice in one object";
    return false;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& e) override {
    std::string_view what = e.what();
    // The library prefixes "[json.exception.parse_error.101] "; users do not need the number.
    if (size_t end = what.find("] "); end != std::string_view::npos) what.remove_prefix(end + 2);
    error_ =
        "syntax error at byte " + std::to_string(position) + ": " + EscapeForMessage(what, 160);
    return false;
  }
  const std::string& error() const { return error_; }

 private:
  bool Enter() {
    if (static_cast<int>(keys_.size()) >= kJsonDepthMax) {
      error_ = "nested deeper than " + std::to_string(kJsonDepthMax) + " levels";
      return false;
    }
    keys_.emplace_back();
    return true;
  }
  bool Leave() {
    keys_.pop_back();
    return true;
  }

  std::vector<std::set<std::string>> keys_;
  std::string error_;
};

Error Missing(const char* key, const char* type, const Json* found) {
  std::string message = "json field '" + std::string(key) + "' ";
  message += found == nullptr ? "is missing" : "has type " + std::string(found->type_name());
  message += ", expected ";
  message += type;
  return Error{Code::kInvalidInput, std::move(message)};
}

}  // namespace

Result<Json> ParseJson(std::string_view text, int64_t bytes_max) {
  if (static_cast<int64_t>(text.size()) > bytes_max) {
    return Error{Code::kInvalidInput, "json document has " +
                                          FormatBytes(static_cast<int64_t>(text.size())) +
                                          ", limit " + FormatBytes(bytes_max)};
  }
  Checker checker;
  if (!Json::sax_parse(text.begin(), text.end(), &checker)) {
    return Error{Code::kInvalidInput, "json document: " + checker.error()};
  }
  Json document = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return Error{Code::kInvalidInput, "json document: not valid"};
  return document;
}

std::string DumpJson(const Json& document, int indent) {
  return document.dump(indent > 0 ? indent : -1, ' ', false, Json::error_handler_t::replace);
}

const Json* JsonFind(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

Result<std::string> JsonString(const Json& object, const char* key) {
  const Json* value = JsonFind(object, key);
  if (value == nullptr || !value->is_string()) return Missing(key, "string", value);
  return value->get_ref<const std::string&>();
}

Result<int64_t> JsonInt(const Json& object, const char* key) {
  const Json* value = JsonFind(object, key);
  if (value == nullptr || !value->is_number_integer()) return Missing(key, "integer", value);
  if (value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
    return Missing(key, "integer below 2^63", value);
  }
  return value->get<int64_t>();
}

Result<double> JsonNumber(const Json& object, const char* key) {
  const Json* value = JsonFind(object, key);
  if (value == nullptr || !value->is_number()) return Missing(key, "number", value);
  return value->get<double>();
}

Result<bool> JsonBool(const Json& object, const char* key) {
  const Json* value = JsonFind(object, key);
  if (value == nullptr || !value->is_boolean()) return Missing(key, "boolean", value);
  return value->get<bool>();
}

Status JsonOnlyKeys(const Json& object, std::span<const std::string_view> known) {
  if (!object.is_object()) {
    return Error{Code::kInvalidInput,
                 "expected a json object, got " + std::string(object.type_name())};
  }
  for (const auto& [key, value] : object.items()) {
    bool found = false;
    for (std::string_view name : known) found = found || name == key;
    if (!found)
      return Error{Code::kInvalidInput, "unknown json field '" + EscapeForMessage(key, 60) + "'"};
  }
  return OkStatus();
}

}  // namespace kuafu
