// SPDX-License-Identifier: Apache-2.0
// C++ source as tokens: joined lines are joined, comments are gone, literals are single tokens. No
// include is resolved and no macro is expanded, so a broken file still yields its tokens.
//
//   CppTokens tokens(source);
//   for (const CppToken& t : tokens.all()) if (t.text == "asm") ...
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kuafu {

struct CppToken {
  enum class Kind : uint8_t {
    kWord,
    kNumber,
    kString,  // "..." with its quotes; the prefix (u8, L) is dropped
    kRaw,     // R"(...)" with its quotes
    kChar,    // '...'
    kHeader,  // <...> after #include
    kPunct,   // one character, or ::  ##  ->
  };
  Kind kind = Kind::kPunct;
  int directive = 0;         // of which preprocessor directive it is part; 0 = of none
  int line = 0, column = 0;  // from 1, in the source as it was given
  std::string_view text;     // into the CppTokens that made it
};

class CppTokens {
 public:
  explicit CppTokens(std::string_view source);
  CppTokens(const CppTokens&) = delete;
  CppTokens& operator=(const CppTokens&) = delete;
  std::span<const CppToken> all() const { return tokens_; }

 private:
  std::string text_;  // the source with joined lines
  std::vector<CppToken> tokens_;
};

}  // namespace kuafu
