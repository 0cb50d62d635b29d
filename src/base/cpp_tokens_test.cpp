// SPDX-License-Identifier: Apache-2.0
// Goal: nothing that a compiler reads as a token escapes, and nothing in a comment or a literal is
// one. Method: small sources with what hides words: joined lines, comments, raw strings, digraphs.
#include "base/cpp_tokens.h"

#include <gtest/gtest.h>

namespace kuafu {
namespace {

std::string Texts(std::string_view source) {
  const CppTokens tokens(source);
  std::string all;
  for (const CppToken& t : tokens.all()) {
    if (!all.empty()) all += ' ';
    all += t.text;
  }
  return all;
}

TEST(CppTokens, CommentsAreNoTokensAndLiteralsAreOne) {
  EXPECT_EQ(Texts("a /* fork( */ b // system(\nc"), "a b c");
  EXPECT_EQ(Texts("f(\"fork(); \\\" x\", 'a', '\\'')"), "f ( \"fork(); \\\" x\" , 'a' , '\\'' )");
  EXPECT_EQ(Texts("R\"x(fork() )\" )x\" + u8\"a\""), "\"x(fork() )\" )x\" + \"a\"");
  EXPECT_EQ(Texts("\"// no comment\" x"), "\"// no comment\" x");
}

TEST(CppTokens, AWordSplitOverLinesIsOneWord) {
  EXPECT_EQ(Texts("sys\\\ntem (1)"), "system ( 1 )");
  EXPECT_EQ(Texts("sys\\  \r\ntem"), "system");
  EXPECT_EQ(Texts("// comment \\\nstill comment\nx"), "x");
}

TEST(CppTokens, NumbersKeepSeparatorsAndSuffixes) {
  EXPECT_EQ(Texts("1'000'000ull + .5f + 0x1p-3"), "1'000'000ull + .5f + 0x1p - 3");
}

TEST(CppTokens, DirectivesAreMarkedAndHeadersAreOneToken) {
  const CppTokens tokens("#include <a/b.h>\n#define F(x) x##1\nint y;\n%:define G 1\n");
  std::string directive, rest;
  for (const CppToken& t : tokens.all())
    (t.directive != 0 ? directive : rest) += std::string(t.text) + " ";
  EXPECT_EQ(directive, "# include <a/b.h> # define F ( x ) x ## 1 %: define G 1 ");
  EXPECT_EQ(rest, "int y ; ");
  EXPECT_EQ(tokens.all()[2].kind, CppToken::Kind::kHeader);
}

TEST(CppTokens, PlacesAreThoseOfTheSource) {
  const CppTokens tokens("a\n  b\\\n  c\n d");
  ASSERT_EQ(tokens.all().size(), 4u);
  EXPECT_EQ(tokens.all()[1].line, 2);
  EXPECT_EQ(tokens.all()[1].column, 3);
  EXPECT_EQ(tokens.all()[2].line, 3);
  EXPECT_EQ(tokens.all()[2].column, 3);
  EXPECT_EQ(tokens.all()[3].line, 4);
  EXPECT_EQ(tokens.all()[3].column, 2);
}

TEST(CppTokens, UnfinishedTextEnds) {
  for (const char* source :
       {"\"abc", "'", "R\"", "R\"(abc", "/* abc", "\\", "#", "#include <a", "a\\\n"})
    CppTokens tokens(source);
}

}  // namespace
}  // namespace kuafu
