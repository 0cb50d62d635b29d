// SPDX-License-Identifier: Apache-2.0
// Text level only: names and shapes of the source, no C++ grammar.
#include "verify/candidate.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace kuafu::verify {
namespace {

constexpr size_t kArgsMax = 256;

Error Bad(std::string text) { return Error{Code::kInvalidInput, std::move(text)}; }

// The end of the string literal whose quote is at `at`.
size_t StringEnd(std::string_view s, size_t at, bool python) {
  const char quote = s[at];
  if (!python && at > 0 && s[at - 1] == 'R' && quote == '"') {
    const size_t open = s.find('(', at);
    if (open == std::string_view::npos) return s.size();
    const std::string close = ")" + std::string(s.substr(at + 1, open - at - 1)) + "\"";
    const size_t end = s.find(close, open);
    return end == std::string_view::npos ? s.size() : end + close.size();
  }
  const std::string triple(3, quote);
  const bool is_triple = python && s.substr(at, 3) == triple;
  for (size_t i = at + (is_triple ? 3 : 1); i < s.size(); ++i) {
    if (s[i] == '\\') {
      ++i;
    } else if (is_triple) {
      if (s.substr(i, 3) == triple) return i + 3;
    } else if (s[i] == quote || s[i] == '\n') {
      return i + 1;
    }
  }
  return s.size();
}

// The source with nothing in its strings and block comments: what looks like a comment there is
// none. Lines stay lines.
std::string WithoutStrings(std::string_view s, bool python) {
  std::string out(s);
  const auto blank = [&](size_t from, size_t to) {
    for (size_t k = from; k < to; ++k) {
      if (out[k] != '\n') out[k] = ' ';
    }
    return to;
  };
  const auto is_word = [&](size_t i) {
    return (s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'z') ||
           (s[i] >= 'A' && s[i] <= 'Z');
  };
  for (size_t i = 0; i < s.size();) {
    const std::string_view rest = s.substr(i);
    if (python ? s[i] == '#' : StartsWith(rest, "//")) {
      const size_t end = s.find('\n', i);
      i = end == std::string_view::npos ? s.size() : end;
    } else if (!python && StartsWith(rest, "/*")) {
      const size_t end = s.find("*/", i + 2);
      i = blank(i, end == std::string_view::npos ? s.size() : end + 2);
    } else if (s[i] == '"' || (s[i] == '\'' && (python || i == 0 || !is_word(i - 1)))) {
      i = blank(i, StringEnd(s, i, python));  // in C++ an apostrophe within a number is no quote
    } else {
      ++i;
    }
  }
  return out;
}

// The manifest's own text, empty if there is none. It must start a line comment.
std::string ManifestText(std::string_view text_with_strings, std::string_view comment) {
  const std::string source = WithoutStrings(text_with_strings, comment == "#");
  for (const std::string_view line : SplitLines(source)) {
    const std::string_view text = Trim(line);
    if (!StartsWith(text, comment)) continue;
    const std::string_view rest = Trim(text.substr(comment.size()));
    if (StartsWith(rest, "kuafu:")) return std::string(Trim(rest.substr(6)));
  }
  return {};
}

bool IsFence(std::string_view line) { return StartsWith(Trim(line), "```"); }

bool LooksLikeKernel(std::string_view source) {
  return Contains(source, "__global__") || Contains(source, "torch::Tensor") ||
         Contains(source, "at::Tensor");
}

bool DefinesModel(std::string_view source) {
  for (const std::string_view line : SplitLines(source)) {
    if (StartsWith(Trim(line), "class ModelNew") || StartsWith(Trim(line), "ModelNew ="))
      return true;
  }
  return false;
}

// The text of the last fenced block that `fits`, or everything when there is no fence.
Result<std::string> Extract(std::string_view text, bool (*fits)(std::string_view),
                            const char* none) {
  if (text.find('\0') != std::string_view::npos || !IsUtf8(text))
    return Bad("reading the candidate: it is not UTF-8 text");
  const std::vector<std::string_view> lines = SplitLines(text);
  size_t begin = 0, end = lines.size();  // the lines of the candidate
  bool fenced = false, found = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!IsFence(lines[i])) continue;
    fenced = true;
    size_t close = i + 1;
    while (close < lines.size() && !IsFence(lines[close])) ++close;
    std::string block;
    for (size_t k = i + 1; k < close; ++k) block.append(lines[k]).push_back('\n');
    if (fits(block)) {
      begin = i + 1;
      end = close;
      found = true;
    }
    i = close;
  }
  if (!fenced) {
    if (Trim(text).empty()) return Bad("reading the candidate: the file is empty");
    return std::string(text);
  }
  if (!found) return Bad(std::string("reading the candidate: ") + none);
  std::string source(begin, '\n');
  for (size_t i = begin; i < end; ++i) source.append(lines[i]).push_back('\n');
  return source;
}

frontend::ArgumentValue Literal(std::string_view text, bool* ok) {
  using Kind = frontend::ArgumentValue::Kind;
  frontend::ArgumentValue value;
  *ok = true;
  if (text == "true" || text == "false") {
    value.kind = Kind::kBool;
    value.integer = text == "true" ? 1 : 0;
  } else if (text == "none") {
    value.kind = Kind::kNone;
  } else if (const auto integer = ParseInt64(text)) {
    value.kind = Kind::kInt;
    value.integer = *integer;
  } else if (const auto real = ParseDouble(text)) {
    value.kind = Kind::kReal;
    value.real = *real;
  } else {
    *ok = false;
  }
  return value;
}

}  // namespace

Result<Manifest> ParseManifest(std::string_view source, std::string_view comment) {
  Manifest manifest;
  const std::string text = ManifestText(source, comment);
  for (const std::string_view word : Split(text, ' ')) {
    if (word.empty()) continue;
    const size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    if (key == "entry" && !value.empty()) {
      manifest.entry = value;
    } else if (key == "args") {
      manifest.args.emplace();
      for (const std::string_view arg : Split(value, ',')) {
        if (!arg.empty()) manifest.args->emplace_back(arg);
      }
      if (manifest.args->size() > kArgsMax)
        return Bad("reading the manifest: more than " + std::to_string(kArgsMax) + " arguments");
    } else if (word == "nominal") {
      manifest.fixed_shapes = true;
    } else if (key == "fixed_shapes" && (value == "true" || value == "false")) {
      manifest.fixed_shapes = value == "true";
    } else {
      return Bad("reading the manifest: '" + EscapeForMessage(word, 60) +
                 "' is not entry=NAME, args=A,B,C=LITERAL, nominal or fixed_shapes=true|false");
    }
  }
  return manifest;
}

Result<std::string> ExtractSource(std::string_view text) {
  return Extract(text, LooksLikeKernel, "no fenced block has a kernel or an entry function");
}

Result<std::string> ExtractPython(std::string_view text) {
  // What a model thought before it answered may hold drafts.
  constexpr std::string_view kThinkEnd = "</think>";
  std::string blanked(text);
  if (const size_t at = text.rfind(kThinkEnd); at != std::string_view::npos) {
    for (size_t i = 0; i < at + kThinkEnd.size(); ++i) {
      if (blanked[i] != '\n') blanked[i] = ' ';
    }
  }
  return Extract(blanked, DefinesModel, "no fenced block defines ModelNew");
}

Result<std::vector<Binding>> Bind(const Manifest& manifest, const task::Task& task) {
  std::vector<Binding> bindings;
  if (!manifest.args.has_value()) {
    for (size_t i = 0; i < task.arguments.size(); ++i)
      bindings.push_back(
          {.argument = static_cast<int>(i), .literal = {}, .name = task.arguments[i].name});
    return bindings;
  }
  for (const std::string& arg : *manifest.args) {
    const size_t equals = arg.find('=');
    Binding binding;
    binding.name = arg.substr(0, equals);
    if (equals != std::string::npos) {
      bool ok = false;
      binding.literal = Literal(std::string_view(arg).substr(equals + 1), &ok);
      if (!ok) {
        return Bad("reading the manifest: the value in '" + EscapeForMessage(arg, 60) +
                   "' is no number, true, false or none");
      }
    } else {
      const auto it = std::find_if(task.arguments.begin(), task.arguments.end(),
                                   [&](const task::Argument& a) { return a.name == binding.name; });
      if (it == task.arguments.end()) {
        std::string known;
        for (const task::Argument& a : task.arguments)
          known += (known.empty() ? "" : ", ") + a.name;
        return Bad("reading the manifest: the reference has no argument '" +
                   EscapeForMessage(binding.name, 60) + "'; it has " + known);
      }
      binding.argument = static_cast<int>(it - task.arguments.begin());
    }
    bindings.push_back(std::move(binding));
  }
  return bindings;
}

}  // namespace kuafu::verify
