// SPDX-License-Identifier: Apache-2.0
// kuafu_candidate/policy.py reads the same files in the same way.
#include "verify/policy.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/text.h"
#include "os/file.h"

namespace kuafu::verify {
namespace {

constexpr int kExtendsMax = 4;
constexpr int64_t kPolicyBytesMax = 1 << 20;

void Merge(Json& base, const Json& change) {
  for (const auto& [key, value] : change.items()) {
    if (key.size() > 1 && (key[0] == '+' || key[0] == '-') && value.is_array()) {
      Json& list = base[key.substr(1)];
      if (!list.is_array()) list = Json::array();
      for (const Json& item : value) {
        if (key[0] == '+') {
          list.push_back(item);
        } else {
          list.erase(std::remove(list.begin(), list.end(), item), list.end());
        }
      }
    } else if (value.is_object() && base.contains(key) && base[key].is_object()) {
      Merge(base[key], value);
    } else {
      base[key] = value;
    }
  }
}

Result<Json> LoadJson(const std::string& name, int depth) {
  if (depth >= kExtendsMax) {
    return Error{Code::kInvalidInput, "reading policy '" + name + "': it extends more than " +
                                          std::to_string(kExtendsMax) + " others"};
  }
  const std::string path =
      EndsWith(name, ".json") ? name : os::JoinPath(KUAFU_POLICY_DIR, name + ".json");
  if (!os::FileExists(path)) {
    return Error{Code::kInvalidInput, "reading policy '" + EscapeForMessage(name, 80) +
                                          "': no such policy; there are default, strict, lenient, "
                                          "and files that end in .json"};
  }
  KUAFU_TRY(const std::string text, os::ReadFile(path, kPolicyBytesMax));
  Result<Json> parsed = ParseJson(text);
  if (!parsed.ok()) return std::move(parsed).error().WithContext("reading policy " + path);
  Json change = std::move(parsed).value();
  if (!change.is_object())
    return Error{Code::kInvalidInput, "reading policy " + path + ": it must be an object"};
  Json base = Json::object();
  if (change.contains("extends")) {
    KUAFU_TRY(const std::string parent, JsonString(change, "extends"));
    KUAFU_TRY(base, LoadJson(parent, depth + 1));
    change.erase("extends");
  }
  Merge(base, change);
  return base;
}

const Json& Member(const Json& json, std::initializer_list<const char*> path) {
  static const Json kNone;
  const Json* at = &json;
  for (const char* key : path) {
    at = JsonFind(*at, key);
    if (at == nullptr) return kNone;
  }
  return *at;
}

std::vector<std::string> List(const Json& json) {
  std::vector<std::string> list;
  if (!json.is_array()) return list;
  for (const Json& item : json) {
    if (item.is_string()) list.push_back(item.get<std::string>());
  }
  return list;
}

Policy::Names Set(const Json& json) {
  const std::vector<std::string> list = List(json);
  return {list.begin(), list.end()};
}

// Every code must be a rule: a typing mistake in a policy must not switch a rule off.
Result<Policy::Codes> CodesOf(const Policy& policy, const char* part, const char* table) {
  Policy::Codes codes;
  for (const auto& [name, code] : Member(policy.json, {part, table}).items()) {
    if (!code.is_string() || policy.Find(code.get<std::string>()) == nullptr) {
      return Error{Code::kInvalidInput, "reading policy '" + policy.name + "': " + part + "." +
                                            table + "." + name + " names no rule"};
    }
    codes.emplace(name, code.get<std::string>());
  }
  return codes;
}

Status ReadRules(Policy& policy) {
  for (const auto& [code, json] : Member(policy.json, {"rules"}).items()) {
    Rule rule;
    KUAFU_TRY(const std::string cls, JsonString(json, "class"));
    KUAFU_TRY(rule.cls, verdict::ParseClass(cls));
    KUAFU_TRY(const std::string severity, JsonString(json, "severity"));
    if (severity == "off") {
      rule.severity = Rule::Severity::kOff;
    } else if (severity == "warn") {
      rule.severity = Rule::Severity::kWarn;
    } else if (severity != "reject") {
      return Error{Code::kInvalidInput, "reading policy '" + policy.name + "': severity of " +
                                            code + " is '" + EscapeForMessage(severity, 40) +
                                            "', not reject, warn or off"};
    }
    KUAFU_TRY(rule.text, JsonString(json, "text"));
    rule.rank = static_cast<int>(policy.rules.size());
    policy.rules.emplace(code, std::move(rule));
  }
  return OkStatus();
}

}  // namespace

Result<Policy> LoadPolicy(const std::string& name) {
  Policy policy;
  KUAFU_TRY(policy.json, LoadJson(name, 0));
  KUAFU_TRY(policy.name, JsonString(policy.json, "name"));
  KUAFU_TRY_STATUS(ReadRules(policy));
  KUAFU_TRY(policy.cpp.names, CodesOf(policy, "cpp", "names_denied"));
  KUAFU_TRY(policy.cpp.calls, CodesOf(policy, "cpp", "calls_denied"));
  KUAFU_TRY(policy.cpp.qualified, CodesOf(policy, "cpp", "qualified_denied"));
  KUAFU_TRY(policy.cpp.include_codes, CodesOf(policy, "cpp", "include_codes"));
  const Json& json = policy.json;
  policy.cpp.tensor_functions = Set(Member(json, {"cpp", "tensor_functions"}));
  policy.cpp.tensor_methods = Set(Member(json, {"cpp", "tensor_methods_denied"}));
  policy.cpp.tensor_namespaces = Set(Member(json, {"cpp", "tensor_namespaces"}));
  policy.cpp.library_includes = List(Member(json, {"cpp", "library_includes"}));
  policy.cpp.library_prefixes = List(Member(json, {"cpp", "library_prefixes"}));
  policy.symbols.names = Set(Member(json, {"symbols", "names"}));
  policy.symbols.prefixes = List(Member(json, {"symbols", "prefixes"}));
  KUAFU_TRY(policy.symbols.denied_prefixes, CodesOf(policy, "symbols", "denied_prefixes"));
  return policy;
}

Result<const Policy*> PolicyNamed(const std::string& name) {
  static std::mutex mutex;  // guards kept
  static std::map<std::string, std::unique_ptr<const Policy>> kept;
  const std::lock_guard lock(mutex);
  auto it = kept.find(name);
  if (it == kept.end()) {
    KUAFU_TRY(Policy loaded, LoadPolicy(name));
    it = kept.emplace(name, std::make_unique<const Policy>(std::move(loaded))).first;
  }
  return it->second.get();
}

}  // namespace kuafu::verify
