// SPDX-License-Identifier: Apache-2.0
// Tokens rather than clang: a broken file still yields its entry name, and the compiler proper
// reports what is wrong.
#include "klang/entry.h"

#include <cctype>
#include <vector>

#include "base/cpp_tokens.h"

namespace kuafu::klang {
namespace {

std::string FromManifest(std::string_view source) {
  for (size_t at = source.find("kuafu:"); at != std::string_view::npos;
       at = source.find("kuafu:", at + 6)) {
    const size_t slashes = source.rfind("//", at);
    const size_t line = source.rfind('\n', at);
    if (slashes == std::string_view::npos || (line != std::string_view::npos && line > slashes))
      continue;
    std::string_view rest = source.substr(at, source.find('\n', at) - at);
    const size_t key = rest.find(" entry=");
    if (key == std::string_view::npos) continue;
    rest.remove_prefix(key + 7);
    size_t end = 0;
    while (end < rest.size() && (std::isalnum(static_cast<unsigned char>(rest[end])) != 0 ||
                                 rest[end] == '_' || rest[end] == ':'))
      ++end;
    if (end > 0) return std::string(rest.substr(0, end));
  }
  return {};
}

// The function that a definition's head introduces, if it returns tensors: `torch :: Tensor f (
// ...`.
std::string TensorFunction(const std::vector<std::string_view>& head) {
  size_t paren = 0;
  while (paren < head.size() && head[paren] != "(") ++paren;
  if (paren < 2 || paren == head.size()) return {};
  size_t begin = 0;
  while (begin < paren && (head[begin] == "inline" || head[begin] == "extern" ||
                           head[begin] == "const" || head[begin][0] == '"'))
    ++begin;
  std::string type;
  for (size_t i = begin; i + 1 < paren; ++i) {
    if (head[i] == "static" || head[i] == "template" || head[i] == "__global__" ||
        head[i] == "__device__")
      return {};
    type += head[i];
  }
  if (!type.empty() && type.back() == '&') type.pop_back();
  const bool tensor = type == "torch::Tensor" || type == "at::Tensor" || type == "Tensor";
  const bool vector = type == "std::vector<torch::Tensor>" || type == "std::vector<at::Tensor>";
  const bool tuple = type.starts_with("std::tuple<") || type.starts_with("std::pair<");
  if (tensor || vector || (tuple && type.find("Tensor") != std::string::npos))
    return std::string(head[paren - 1]);
  return {};
}

}  // namespace

std::string FindEntry(std::string_view source) {
  std::string manifest = FromManifest(source);
  if (!manifest.empty()) return manifest;
  const CppTokens tokens(source);
  std::string last, bound;
  std::vector<std::string_view> head;  // tokens since the last end of a declaration, at file scope
  size_t depth = 0;
  size_t def_state = 0;  // progress through: def ( "name" , & f
  for (const CppToken& t : tokens.all()) {
    if (t.directive != 0 || t.kind == CppToken::Kind::kChar || t.kind == CppToken::Kind::kRaw)
      continue;
    const std::string_view token = t.text;
    if (bound.empty()) {
      const bool step = (def_state == 0 && token == "def") || (def_state == 1 && token == "(") ||
                        (def_state == 2 && token[0] == '"') || (def_state == 3 && token == ",") ||
                        (def_state == 4 && token == "&");
      if (def_state == 5) bound = std::string(token);
      def_state = step ? def_state + 1 : 0;
    }
    if (token == "{") {
      if (depth == 0) {
        std::string name = TensorFunction(head);
        if (!name.empty()) last = name;
        head.clear();
      }
      ++depth;
    } else if (token == "}") {
      if (depth > 0) --depth;
      head.clear();
    } else if (depth == 0) {
      if (token == ";") {
        head.clear();
      } else if (head.size() < 256) {
        head.push_back(token);
      }
    }
  }
  return bound.empty() ? last : bound;
}

}  // namespace kuafu::klang
