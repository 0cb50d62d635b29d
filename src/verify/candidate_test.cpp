// SPDX-License-Identifier: Apache-2.0
// Goal: what people and models put around a kernel is understood, and typing mistakes are named.
// Method: literal candidate texts.
#include "verify/candidate.h"

#include <gtest/gtest.h>

namespace kuafu::verify {
namespace {

TEST(ExtractSource, AFileWithoutFencesIsTheSource) {
  Result<std::string> source = ExtractSource("__global__ void f() {}\n");
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source.value(), "__global__ void f() {}\n");
}

TEST(ExtractSource, LastBlockWithAKernelWinsAndKeepsItsLines) {
  const char* text =
      "prose\n```cpp\n__global__ void a() {}\n```\nmore\n```\n__global__ void b() {}\n```\n"
      "```bash\nmake\n```\n";
  Result<std::string> source = ExtractSource(text);
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source.value(), std::string(6, '\n') + "__global__ void b() {}\n");
}

TEST(ExtractSource, AFenceThatIsNeverClosedEndsWithTheFile) {
  Result<std::string> source = ExtractSource("```cuda\n__global__ void a() {}");
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source.value(), "\n__global__ void a() {}\n");
}

TEST(ExtractSource, BinaryEmptyAndProseAreRefused) {
  EXPECT_FALSE(ExtractSource("").ok());
  EXPECT_FALSE(ExtractSource(" \n").ok());
  EXPECT_FALSE(ExtractSource(std::string_view("a\0b", 3)).ok());
  EXPECT_FALSE(ExtractSource("\xff\xfe").ok());
  EXPECT_FALSE(ExtractSource("```\nhello\n```\n").ok());
}

TEST(Manifest, EveryKeyIsRead) {
  Result<Manifest> m = ParseManifest(
      "#include <x>\n  // kuafu: entry=f args=x,linear.weight,eps=1e-5 fixed_shapes=true\n");
  ASSERT_TRUE(m.ok()) << m.error().ToString();
  EXPECT_EQ(m.value().entry, "f");
  EXPECT_EQ(m.value().args.value(), (std::vector<std::string>{"x", "linear.weight", "eps=1e-5"}));
  EXPECT_TRUE(m.value().fixed_shapes);
}

TEST(Manifest, AbsentMeansDefaults) {
  Result<Manifest> m = ParseManifest("int kuafu; // not: kuafu: entry=f\n");
  ASSERT_TRUE(m.ok());
  EXPECT_TRUE(m.value().entry.empty());
  EXPECT_FALSE(m.value().args.has_value());
}

TEST(Manifest, TypingMistakesAreNamed) {
  Result<Manifest> m = ParseManifest("// kuafu: entri=f\n");
  ASSERT_FALSE(m.ok());
  EXPECT_NE(m.error().message.find("entri"), std::string::npos);
  EXPECT_FALSE(ParseManifest("// kuafu: fixed_shapes=yes\n").ok());
}

task::Task TwoArguments() {
  task::Task task;
  task.arguments.resize(2);
  task.arguments[0].name = "x";
  task.arguments[1].name = "linear.weight";
  return task;
}

TEST(Bind, NamesAndLiterals) {
  Manifest m;
  m.args = {"linear.weight", "eps=1e-5", "n=3", "flag=true", "bias=none"};
  Result<std::vector<Binding>> b = Bind(m, TwoArguments());
  ASSERT_TRUE(b.ok()) << b.error().ToString();
  using Kind = frontend::ArgumentValue::Kind;
  EXPECT_EQ(b.value()[0].argument, 1);
  EXPECT_EQ(b.value()[1].literal.kind, Kind::kReal);
  EXPECT_EQ(b.value()[1].literal.real, 1e-5);
  EXPECT_EQ(b.value()[2].literal.integer, 3);
  EXPECT_EQ(b.value()[3].literal.kind, Kind::kBool);
  EXPECT_EQ(b.value()[4].literal.kind, Kind::kNone);
}

TEST(Bind, UnknownArgumentListsTheKnownOnes) {
  Manifest m;
  m.args = {"y"};
  Result<std::vector<Binding>> b = Bind(m, TwoArguments());
  ASSERT_FALSE(b.ok());
  EXPECT_NE(b.error().message.find("x, linear.weight"), std::string::npos);
  m.args = {"eps=large"};
  EXPECT_FALSE(Bind(m, TwoArguments()).ok());
}

TEST(Bind, NoManifestPassesEverythingInOrder) {
  Result<std::vector<Binding>> b = Bind(Manifest{}, TwoArguments());
  ASSERT_TRUE(b.ok());
  ASSERT_EQ(b.value().size(), 2u);
  EXPECT_EQ(b.value()[1].argument, 1);
}

TEST(ParseManifest, OnlyCommentsDeclareSomething) {
  EXPECT_TRUE(ParseManifest("import torch\n# kuafu: nominal\n", "#").value().fixed_shapes);
  EXPECT_TRUE(ParseManifest("// kuafu: nominal entry=f\n").value().fixed_shapes);
  for (const char* text :
       {"x = \"\"\"\n# kuafu: nominal\n\"\"\"\n", "x = r'''a\\'\n# kuafu: nominal\n'''\n",
        "'''\n\"\n# kuafu: nominal\n'''", "x = 1  # says: kuafu: nominal\n"})
    EXPECT_FALSE(ParseManifest(text, "#").value().fixed_shapes) << text;
  for (const char* text : {"/*\n// kuafu: nominal\n*/", "auto s = R\"x(\n// kuafu: nominal\n)x\";"})
    EXPECT_FALSE(ParseManifest(text).value().fixed_shapes) << text;
  // Neither an apostrophe in a comment nor one in a number starts a string.
  EXPECT_TRUE(ParseManifest("# don't\n# kuafu: nominal\n", "#").value().fixed_shapes);
  EXPECT_TRUE(ParseManifest("int x = 1'000;\n// kuafu: nominal\n").value().fixed_shapes);
  EXPECT_TRUE(ParseManifest("s = 'it\\'s'\n# kuafu: nominal\n", "#").value().fixed_shapes);
}

}  // namespace
}  // namespace kuafu::verify
