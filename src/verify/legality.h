// SPDX-License-Identifier: Apache-2.0
// What the C++ of a candidate may not do: by its tokens before it is compiled, and by the dynamic
// symbols of what was built. Neither looks at text: words in comments and strings mean nothing.
//
//   for (const LegalityFinding& f : CheckSource(source, policy)) ...
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "verify/policy.h"

namespace kuafu::verify {

struct LegalityFinding {
  std::string code;  // of a rule of the policy
  verdict::Class cls = verdict::Class::kCheating;
  bool reject = true;   // false: a remark only
  int line = 0;         // from 1; 0 = unknown
  std::string message;  // the rule's text and what it was
};

// In the order of lines; at most one for each rule and line. Works on any bytes.
std::vector<LegalityFinding> CheckSource(std::string_view source, const Policy& policy);

// The functions that a shared library takes from elsewhere, against the policy's lists. The file
// may be hostile. invalid_input when it is no ELF library that can be read.
Result<std::vector<LegalityFinding>> CheckImports(std::span<const uint8_t> elf,
                                                  const Policy& policy);
// The same of the whole file behind a descriptor, which is borrowed.
Result<std::vector<LegalityFinding>> CheckImportsOfFile(int fd, const Policy& policy);

// Puts findings into a verdict: what rejects becomes its findings, class, reason and summary, and
// the gate fails; remarks become notes. True if something rejects. `file` is for the findings.
bool ApplyLegality(const std::vector<LegalityFinding>& found, const Policy& policy,
                   const std::string& file, verdict::Verdict& v);

}  // namespace kuafu::verify
