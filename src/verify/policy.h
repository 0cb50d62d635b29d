// SPDX-License-Identifier: Apache-2.0
// The rules of legality as data: policy/default.json and what differs from it.
//
//   KUAFU_TRY(const Policy policy, LoadPolicy("strict"));
//   policy.Find("no_kernel")->reject
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "verdict/verdict.h"

namespace kuafu::verify {

struct Rule {
  verdict::Class cls = verdict::Class::kCheating;
  enum class Severity : uint8_t { kOff, kWarn, kReject } severity = Severity::kReject;
  std::string text;
  int rank = 0;  // its place in the policy: of several, the first is the reason
};

struct Policy {
  std::string name;
  Json json;  // with all differences applied; what a candidate's process is given
  std::map<std::string, Rule, std::less<>> rules;
  using Codes = std::map<std::string, std::string, std::less<>>;
  using Names = std::set<std::string, std::less<>>;
  struct {
    Codes names, calls, qualified, include_codes;
    Names tensor_functions, tensor_methods, tensor_namespaces;
    std::vector<std::string> library_includes, library_prefixes;
  } cpp;
  struct {
    Names names;
    std::vector<std::string> prefixes;
    Codes denied_prefixes;
  } symbols;

  const Rule* Find(std::string_view code) const {
    const auto it = rules.find(code);
    return it == rules.end() ? nullptr : &it->second;
  }
};

// `name` is default, strict or lenient, or the path of a file that ends in .json.
Result<Policy> LoadPolicy(const std::string& name);
// The same, read once in this process and kept until its end. Safe to call from several threads.
Result<const Policy*> PolicyNamed(const std::string& name);

}  // namespace kuafu::verify
