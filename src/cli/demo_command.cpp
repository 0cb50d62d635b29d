// SPDX-License-Identifier: Apache-2.0
// `kuafu demo`: the main job on the bundled examples, each with the class it must get.
#include <cstdio>

#include "base/json.h"
#include "cli/verify_command.h"
#include "os/file.h"

namespace kuafu::cli {
namespace {

struct Example {
  const char* reference;
  const char* kernel;
  const char* target;
  const char* about;
  verdict::Class expected;
};

using verdict::Class;

constexpr Example kExamples[] = {
    {"softmax/ref.py", "softmax/softmax.cu", "sim:h100", "a correct softmax in CUDA", Class::kPass},
    {"softmax/ref.py", "softmax/softmax.mu", "sim:mtt-s4000", "the same in MUSA, 128-lane warps",
     Class::kPass},
    {"softmax/ref.py", "softmax/softmax_race.cu", "sim:h100",
     "right values, but a barrier is missing", Class::kRace},
    {"stencil/ref.py", "stencil/stencil_oob.cu", "sim:h100", "reads before the start of its input",
     Class::kOob},
    {"rowsum/ref.py", "rowsum/rowsum_warp32.cu", "sim:h100,sim:mtt-s4000",
     "right at warp 32, wrong at warp 128", Class::kWarpWidth},
    {"hardswish/ref.py", "hardswish/hardswish_tail.cu", "sim:h100", "forgets the tail of odd sizes",
     Class::kWrongResult},
};

// Relative when that names the same folder, so that the reproducers that are printed stay short.
std::string ExamplePath(const char* name) {
  const std::string absolute = KUAFU_SOURCE_DIR "/examples";
  const Result<std::string> here = os::RealPath("examples"), there = os::RealPath(absolute);
  const bool same = here.ok() && there.ok() && here.value() == there.value();
  return os::JoinPath(same ? "examples" : absolute, name);
}

}  // namespace

ExitStatus Demo(const DemoOptions& options) {
  if (!options.reference.empty()) {
    VerifyOptions verify;
    verify.reference = options.reference;
    verify.kernel = options.kernel;
    verify.json = options.json;
    return Verify(verify);
  }
  Result<std::unique_ptr<verify::Verifier>> verifier = StartVerifier(1, true);
  if (!verifier.ok()) {
    std::fprintf(stderr, "kuafu: %s\n", verifier.error().ToString().c_str());
    return StatusOf(verifier.error());
  }
  int as_expected = 0;
  for (const Example& example : kExamples) {
    VerifyOptions verify;
    verify.reference = ExamplePath(example.reference);
    verify.kernel = ExamplePath(example.kernel);
    verify.target = example.target;
    Result<verify::Request> request = RequestFrom(verify);
    Result<verdict::Verdict> verdict = request.ok() ? verifier.value()->Verify(request.value())
                                                    : Result<verdict::Verdict>(request.error());
    if (!verdict.ok()) {
      std::fprintf(stderr, "kuafu: %s\n", verdict.error().ToString().c_str());
      return StatusOf(verdict.error());
    }
    if (verdict.value().cls == example.expected) ++as_expected;
    if (options.json) {
      std::puts(DumpJson(verdict::ToJson(verdict.value())).c_str());
    } else {
      std::printf("-- examples/%s: %s\n%s\n", example.kernel, example.about,
                  verdict::ToText(verdict.value()).c_str());
    }
    std::fflush(stdout);
  }
  const int total = static_cast<int>(std::size(kExamples));
  if (!options.json)
    std::printf("%d of %d examples got the verdict they should\n", as_expected, total);
  return as_expected == total ? kOk : kNegative;
}

}  // namespace kuafu::cli
