// SPDX-License-Identifier: Apache-2.0
// Joined lines first (a backslash at the end of a line may split any word), then one pass.
#include "base/cpp_tokens.h"

#include <algorithm>
#include <cctype>

namespace kuafu {
namespace {

using Kind = CppToken::Kind;

bool IsWord(char c) {
  // Bytes of UTF-8 may stand in names.
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

// A line that was joined to the one before it: where in the joined text, and its number.
struct Joint {
  size_t at;
  int line;
  size_t line_start;  // in the source
  size_t source;      // position in the source of the joined text's `at`
};

std::string JoinLines(std::string_view source, std::vector<Joint>& joints) {
  std::string text;
  text.reserve(source.size());
  int line = 1;
  size_t line_start = 0;
  joints.push_back({0, 1, 0, 0});
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\\') {
      // Blanks between the backslash and the end of the line are allowed by compilers.
      size_t end = i + 1;
      while (end < source.size() && IsBlank(source[end])) ++end;
      if (end < source.size() && source[end] == '\n') {
        i = end;
        ++line;
        line_start = end + 1;
        joints.push_back({text.size(), line, line_start, end + 1});
        continue;
      }
    }
    text.push_back(source[i]);
    if (source[i] == '\n') {
      ++line;
      line_start = i + 1;
      joints.push_back({text.size(), line, line_start, i + 1});
    }
  }
  return text;
}

class Scan {
 public:
  Scan(std::string_view text, const std::vector<Joint>& joints, std::vector<CppToken>& tokens)
      : text_(text), joints_(joints), tokens_(tokens) {}

  void Run() {
    while (SkipBlank()) One();
  }

 private:
  bool SkipBlank() {
    while (at_ < text_.size()) {
      if (text_[at_] == '\n') {
        line_start_ = true;
        directive_ = 0;
        include_ = 0;
        ++at_;
      } else if (IsBlank(text_[at_]) || text_[at_] == '\0') {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (text_.substr(at_, 2) == "/*") {
        const size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? text_.size() : end + 2;
      } else {
        return true;
      }
    }
    return false;
  }

  void Emit(Kind kind, size_t begin, size_t skip = 0) {
    while (joint_ + 1 < joints_.size() && joints_[joint_ + 1].at <= begin) ++joint_;
    const Joint& j = joints_[joint_];
    const size_t source = j.source + (begin - j.at);
    CppToken token{kind, directive_, j.line, static_cast<int>(source - j.line_start) + 1,
                   text_.substr(begin + skip, at_ - begin - skip)};
    if (include_ == 1)
      include_ = token.text.starts_with("include") || token.text == "import" ? 2 : 0;
    tokens_.push_back(token);
  }

  void One() {
    const size_t begin = at_;
    const char c = text_[at_];
    const bool first = line_start_;
    line_start_ = false;
    if (first && (c == '#' || text_.substr(at_, 2) == "%:")) {
      at_ += c == '#' ? 1 : 2;
      directive_ = ++directives_;
      Emit(Kind::kPunct, begin);
      include_ = 1;
      return;
    }
    if (include_ == 2 && c == '<') {
      while (at_ < text_.size() && text_[at_] != '>' && text_[at_] != '\n') ++at_;
      if (at_ < text_.size() && text_[at_] == '>') ++at_;
      Emit(Kind::kHeader, begin);
      return;
    }
    if (IsDigit(c) || (c == '.' && at_ + 1 < text_.size() && IsDigit(text_[at_ + 1]))) {
      while (at_ < text_.size() && (IsWord(text_[at_]) || text_[at_] == '.' || Separator())) ++at_;
      return Emit(Kind::kNumber, begin);
    }
    if (IsWord(c)) {
      while (at_ < text_.size() && IsWord(text_[at_])) ++at_;
      const std::string_view word = text_.substr(begin, at_ - begin);
      const bool quote = at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'');
      if (quote && text_[at_] == '"' &&
          (word == "R" || word == "u8R" || word == "uR" || word == "UR" || word == "LR")) {
        Raw();
        return Emit(Kind::kRaw, begin, word.size());
      }
      if (quote && (word == "u8" || word == "u" || word == "U" || word == "L")) {
        const char q = text_[at_];
        Quoted(q);
        return Emit(q == '"' ? Kind::kString : Kind::kChar, begin, word.size());
      }
      return Emit(Kind::kWord, begin);
    }
    if (c == '"' || c == '\'') {
      Quoted(c);
      return Emit(c == '"' ? Kind::kString : Kind::kChar, begin);
    }
    const std::string_view two = text_.substr(at_, 2);
    if (text_.substr(at_, 4) == "%:%:") {
      at_ += 4;
    } else {
      at_ += two == "::" || two == "##" || two == "->" || two == "%:" ? 2 : 1;
    }
    Emit(Kind::kPunct, begin);
  }

  // 1'000: between two digits of a number.
  bool Separator() const {
    return text_[at_] == '\'' && at_ + 1 < text_.size() && IsWord(text_[at_ + 1]);
  }
  void Quoted(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    at_ = std::min(at_ + (at_ < text_.size() && text_[at_] == quote ? 1 : 0), text_.size());
  }
  void Raw() {
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
  const std::vector<Joint>& joints_;
  std::vector<CppToken>& tokens_;
  size_t at_ = 0, joint_ = 0;
  bool line_start_ = true;
  int directive_ = 0, directives_ = 0;
  int include_ = 0;  // 1: after #; 2: after #include
};

}  // namespace

CppTokens::CppTokens(std::string_view source) {
  std::vector<Joint> joints;
  text_ = JoinLines(source, joints);
  Scan(text_, joints, tokens_).Run();
}

}  // namespace kuafu
