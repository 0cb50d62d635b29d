// SPDX-License-Identifier: Apache-2.0
#include "verify/work.h"

#include "verify/compile_pool.h"
#include "verify/extension.h"

namespace kuafu::verify {

struct WorkLister::Impl {
  std::unique_ptr<ExtensionHost> host;
  std::unique_ptr<CompilePool> compilers;
};

WorkLister::WorkLister(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WorkLister::~WorkLister() = default;

Result<std::unique_ptr<WorkLister>> WorkLister::Start(const Options& options) {
  auto impl = std::make_unique<Impl>();
  KUAFU_TRY(impl->host, ExtensionHost::Start({.library = options.torch_library}));
  KUAFU_TRY(impl->compilers, CompilePool::Start(options.compiler, options.compile_workers, 0));
  return std::unique_ptr<WorkLister>(new WorkLister(std::move(impl)));
}

Result<Json> WorkLister::List(const Request& request) {
  ExtensionPlan plan{.run = {.file = "candidate.py",
                             .target = request.target,
                             .warp_width = request.target.profile->warp_width,
                             .sanitize = false,
                             .order_seeds = {0},
                             .timeout_ms = int64_t{request.timeout_s} * 1000,
                             .extension = true,
                             .count = true},
                     .source = request.candidate,
                     .policy = "",
                     .reference = request.reference,
                     .timing = true};
  const TrialSource none = [](bool) -> Result<std::shared_ptr<const frontend::TrialSet>> {
    return Error{Code::kInternal, "listing work: there are no trials"};
  };
  KUAFU_TRY(ExtensionRun run, impl_->host->Run(plan, *impl_->compilers, none));
  Json errors = Json::array();
  for (const std::string& error : run.compile_errors) errors.push_back(error);
  Json timing = std::move(run.timing);
  if (!timing.is_object()) {
    std::string why = "its process ended: " + run.result.end_text;
    if (run.result.end == RunResult::End::kTimeout)
      why = "it took longer than " + std::to_string(request.timeout_s) + " s to follow";
    if (!run.refusal.empty()) why = run.refusal;
    timing = {{"why", why}};
  }
  return Json{{"compile_errors", std::move(errors)},
              {"extensions", run.extensions},
              {"timing", std::move(timing)}};
}

}  // namespace kuafu::verify
