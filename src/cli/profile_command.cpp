// SPDX-License-Identifier: Apache-2.0
// `kuafu profile REF KERNEL`: one trial with counters on, and what they say.
#include <cstdio>

#include "base/json.h"
#include "base/text.h"
#include "cli/verify_command.h"
#include "os/file.h"
#include "perf/profile.h"
#include "simt/counters_json.h"

namespace kuafu::cli {
namespace {

constexpr const char* kNote =
    "simulated: counted on the device module before a vendor's compiler would optimise it, at the "
    "size of this trial";

struct Profiled {
  verdict::Verdict verdict;
  std::vector<perf::KernelProfile> kernels;
  const device::Profile* profile = nullptr;
};

Result<Profiled> RunProfile(const ProfileOptions& options) {
  VerifyOptions as_verify;
  as_verify.reference = options.reference;
  as_verify.kernel = options.kernel;
  as_verify.target = options.target;
  as_verify.seed = options.seed;
  as_verify.trial = options.trial;
  as_verify.timeout_s = options.timeout_s;
  as_verify.sanitize = false;
  KUAFU_TRY(verify::Request request, RequestFrom(as_verify));
  if (request.targets.size() != 1) {
    return Error{Code::kInvalidInput,
                 "profiling for '" + options.target + "': a profile is of one target; name one"};
  }
  Json counters;
  request.on_profile = [&](const Json& json) { counters = json; };
  KUAFU_TRY(const std::unique_ptr<verify::Verifier> verifier, StartVerifier({}));
  Profiled result;
  result.profile = request.targets.front().profile;
  KUAFU_TRY(result.verdict, verifier->Verify(request));
  if (counters.is_null()) return result;
  KUAFU_TRY(const std::vector<simt::LaunchCount> merged, simt::CountersFromJson(counters));
  result.kernels = perf::Profiles(*result.profile, merged);
  return result;
}

void PrintJson(const ProfileOptions& options, const Profiled& result) {
  Json kernels = Json::array();
  for (const perf::KernelProfile& kernel : result.kernels) kernels.push_back(perf::ToJson(kernel));
  const verdict::Verdict& v = result.verdict;
  const Json json = {{"version", 1},
                     {"reference", options.reference},
                     {"kernel", options.kernel},
                     {"target", v.target},
                     {"simulated", true},
                     {"note", kNote},
                     {"trial", options.trial},
                     {"seed", v.seed},
                     {"class", std::string(verdict::ClassName(v.cls))},
                     {"summary", v.summary},
                     {"kernels", std::move(kernels)}};
  std::puts(DumpJson(json, 2).c_str());
}

void PrintText(const ProfileOptions& options, const Profiled& result) {
  const verdict::Verdict& v = result.verdict;
  std::printf("%s on %s (%s)\n%s\n", os::BaseName(options.kernel).c_str(), v.target.c_str(),
              result.profile->title, kNote);
  if (v.pass()) {
    std::printf("trial %d is right; `kuafu verify` runs the others, and the sanitizer\n",
                options.trial);
  } else {
    std::printf("%s: %s\n", std::string(verdict::ClassName(v.cls)).c_str(), v.summary.c_str());
  }
  for (const perf::KernelProfile& kernel : result.kernels)
    std::printf("\n%s", perf::Text(*result.profile, kernel).c_str());
  if (result.kernels.empty()) std::puts("\nno kernel was launched");
}

}  // namespace

ExitStatus Profile(const ProfileOptions& options) {
  Result<Profiled> result = RunProfile(options);
  if (!result.ok()) {
    std::fprintf(stderr, "kuafu: %s\n", result.error().ToString().c_str());
    return StatusOf(result.error());
  }
  options.json ? PrintJson(options, result.value()) : PrintText(options, result.value());
  if (result.value().verdict.cls == verdict::Class::kInfra) return kEnvironment;
  return result.value().verdict.pass() ? kOk : kNegative;
}

}  // namespace kuafu::cli
