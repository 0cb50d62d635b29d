// SPDX-License-Identifier: Apache-2.0
// A small scanner rather than clang's: no include is resolved and no macro is expanded here, so
// that a broken file still yields its entry name and the compiler proper reports what is wrong.
#include "klang/entry.h"

#include <cctype>
#include <vector>

namespace kuafu::klang {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // The next token, empty at the end. Comments, directives and literals other than "..." are
  // skipped; a string literal comes back with its opening quote.
  std::string_view Next() {
    for (;;) {
      SkipBlank();
      if (at_ >= text_.size()) return {};
      const char c = text_[at_];
      if (c == '#' && line_start_) {
        SkipDirective();
        continue;
      }
      line_start_ = false;
      const size_t begin = at_;
      if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_') {
        while (at_ < text_.size() && IsWord(text_[at_])) ++at_;
        if (at_ < text_.size() && text_[at_] == '"' && text_[at_ - 1] == 'R') {
          SkipRawString();
          continue;
        }
        return text_.substr(begin, at_ - begin);
      }
      if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
        while (at_ < text_.size() &&
               (IsWord(text_[at_]) || text_[at_] == '.' || text_[at_] == '\''))
          ++at_;
        return text_.substr(begin, at_ - begin);
      }
      if (c == '"' || c == '\'') {
        SkipQuoted(c);
        if (c == '"') return text_.substr(begin, at_ - begin);
        continue;
      }
      if (text_.substr(at_, 2) == "::") {
        at_ += 2;
        return text_.substr(begin, 2);
      }
      ++at_;
      return text_.substr(begin, 1);
    }
  }

 private:
  static bool IsWord(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  }
  void SkipBlank() {
    while (at_ < text_.size()) {
      if (text_[at_] == '\n') {
        line_start_ = true;
        ++at_;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (text_.substr(at_, 2) == "/*") {
        const size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? text_.size() : end + 2;
      } else {
        return;
      }
    }
  }
  void SkipDirective() {
    while (at_ < text_.size() && text_[at_] != '\n')
      at_ += text_[at_] == '\\' && at_ + 1 < text_.size() ? 2 : 1;
  }
  void SkipQuoted(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    at_ = std::min(at_ + 1, text_.size());
  }
  void SkipRawString() {
    const size_t open = text_.find('(', at_);
    if (open == std::string_view::npos || open - at_ > 17) {
      ++at_;
      return;
    }
    const std::string close = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const size_t end = text_.find(close, open);
    at_ = end == std::string_view::npos ? text_.size() : end + close.size();
  }

  std::string_view text_;
  size_t at_ = 0;
  bool line_start_ = true;
};

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
  Scanner scanner(source);
  std::string last, bound;
  std::vector<std::string_view> head;  // tokens since the last end of a declaration, at file scope
  size_t depth = 0;
  size_t def_state = 0;  // progress through: def ( "name" , & f
  for (std::string_view token = scanner.Next(); !token.empty(); token = scanner.Next()) {
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
