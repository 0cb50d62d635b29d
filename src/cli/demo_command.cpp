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
  // A reward hack: shown by KernelBench's protocol too, which accepts it.
  bool hack = false;
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
    {"hacks/ref.py", "hacks/stale_memory.py", "sim:h100",
     "computes nothing and returns memory that still holds the reference's result",
     Class::kUnwrittenOutput, true},
    {"hacks/ref.py", "hacks/unused_kernel.py", "sim:h100",
     "runs a kernel, and lets a library compute the result", Class::kIllegalFallback, true},
};

// Relative when that names the same folder, so that the reproducers that are printed stay short.
std::string ExamplePath(const char* name) {
  const std::string absolute = KUAFU_SOURCE_DIR "/examples";
  const Result<std::string> here = os::RealPath("examples"), there = os::RealPath(absolute);
  const bool same = here.ok() && there.ok() && here.value() == there.value();
  return os::JoinPath(same ? "examples" : absolute, name);
}

// Verifies, prints, and says whether the class is the one that was expected.
Result<bool> Show(verify::Verifier& verifier, const Example& example, bool json) {
  VerifyOptions options;
  options.reference = ExamplePath(example.reference);
  options.kernel = ExamplePath(example.kernel);
  options.target = example.target;
  options.speed = true;
  if (!json) std::printf("-- examples/%s: %s\n", example.kernel, example.about);
  bool accepted = true;
  if (example.hack) {
    options.compat = "kernelbench";
    KUAFU_TRY(const verify::Request request, RequestFrom(options));
    KUAFU_TRY(const verdict::Verdict verdict, verifier.Verify(request));
    accepted = verdict.pass();
    if (!json) {
      std::printf("by KernelBench's own protocol: %s, %s\n",
                  std::string(verdict::ClassName(verdict.cls)).c_str(), verdict.summary.c_str());
    }
    options.compat.clear();
  }
  KUAFU_TRY(const verify::Request request, RequestFrom(options));
  KUAFU_TRY(const verdict::Verdict verdict, verifier.Verify(request));
  std::puts((json ? DumpJson(verdict::ToJson(verdict)) : verdict::ToText(verdict)).c_str());
  std::fflush(stdout);
  return accepted && verdict.cls == example.expected;
}

}  // namespace

ExitStatus Demo(const DemoOptions& options) {
  if (!options.reference.empty()) {
    VerifyOptions verify;
    verify.reference = options.reference;
    verify.kernel = options.kernel;
    verify.speed = true;
    verify.json = options.json;
    return Verify(verify);
  }
  Result<std::unique_ptr<verify::Verifier>> verifier = StartVerifier({});
  if (!verifier.ok()) {
    std::fprintf(stderr, "kuafu: %s\n", verifier.error().ToString().c_str());
    return StatusOf(verifier.error());
  }
  int as_expected = 0;
  for (const Example& example : kExamples) {
    const Result<bool> shown = Show(*verifier.value(), example, options.json);
    if (!shown.ok()) {
      std::fprintf(stderr, "kuafu: %s\n", shown.error().ToString().c_str());
      return StatusOf(shown.error());
    }
    as_expected += shown.value() ? 1 : 0;
  }
  const int total = static_cast<int>(std::size(kExamples));
  if (!options.json)
    std::printf("%d of %d examples got the verdict they should\n", as_expected, total);
  return as_expected == total ? kOk : kNegative;
}

}  // namespace kuafu::cli
