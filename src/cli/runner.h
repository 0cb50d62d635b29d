// SPDX-License-Identifier: Apache-2.0
// What the two modes of kuafu-runner share. Private to the program.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <span>

#include "base/json.h"
#include "base/result.h"
#include "hostabi/session.h"

namespace kuafu::runner {

// Exit status when the runner itself could not do its work; the candidate is not to blame.
inline constexpr int kInfraExit = 125;

// As in a verdict, but with the kind of the finding and a line of text.
Json FindingJson(const hostabi::Finding& finding);
Json CountersJson(const hostabi::Counters& counters);

// The arrays that the compiler put into the candidate's shared object; empty when absent.
template <class Row>
std::span<const Row> Table(void* library, const char* rows, const char* count) {
  const auto* first = static_cast<const Row*>(dlsym(library, rows));
  const auto* n = static_cast<const uint64_t*>(dlsym(library, count));
  if (first == nullptr || n == nullptr) return {};
  return {first, static_cast<size_t>(*n)};
}
// Loads host code (its static constructors run now, so the sandbox must have been entered) and
// tells the session about its kernels and variables.
Result<void*> LoadHostCode(hostabi::Session& session, const char* path);

// `kuafu run`: a whole program with a main().
int ProgramMain(int argc, char** argv);
// `verify`: one candidate, many calls of its entry function; requests and answers on descriptor 3.
int TrialsMain();

}  // namespace kuafu::runner
