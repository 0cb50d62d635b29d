// SPDX-License-Identifier: Apache-2.0
// The parse gate: what a candidate file holds, before any compiler has seen it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "frontend/frontend.h"

namespace kuafu::verify {

// The comment `// kuafu: entry=f args=x,linear.weight,eps=1e-5 fixed_shapes=true`.
struct Manifest {
  std::string entry;  // empty = found by the compiler
  std::optional<std::vector<std::string>>
      args;  // absent = all arguments of the task in their order
  // `nominal`, or fixed_shapes=true: it hard-codes the task's sizes and is judged at those only.
  bool fixed_shapes = false;
};

// From the first line comment that starts with "kuafu:", never from a string or a block comment.
// invalid_input for an unknown key or a malformed value: a typing mistake must not pass silently.
Result<Manifest> ParseManifest(std::string_view source, std::string_view comment = "//");

// The source in `text`: all of it, or, when it has fenced blocks, the last block that has a kernel
// or an entry. Lines before it are kept as empty lines, so that line numbers stay those of the
// file. invalid_input when there is none, or when it is not text.
Result<std::string> ExtractSource(std::string_view text);

// The same for a Python file: the last fenced block that defines ModelNew.
Result<std::string> ExtractPython(std::string_view text);

// For each parameter of the entry function: which argument of the task, or a literal value.
struct Binding {
  int argument = -1;  // index in Task::arguments; -1 = literal
  frontend::ArgumentValue literal;
  std::string name;
};
// invalid_input names the unknown argument and lists those there are.
Result<std::vector<Binding>> Bind(const Manifest& manifest, const task::Task& task);

}  // namespace kuafu::verify
