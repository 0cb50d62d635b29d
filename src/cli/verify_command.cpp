// SPDX-License-Identifier: Apache-2.0
// `kuafu verify REF KERNEL` and `kuafu verify --batch LIST`.
#include "cli/verify_command.h"

#include <csignal>
#include <cstdio>

#include "base/json.h"
#include "base/text.h"
#include "os/file.h"
#include "os/thread_pool.h"
#include "trace/trace.h"
#include "verify/batch.h"

namespace kuafu::cli {
namespace {

volatile std::sig_atomic_t g_interrupted = 0;

void OnInterrupt(int) { g_interrupted = 1; }

ExitStatus Complain(const Error& error) {
  std::fprintf(stderr, "kuafu: %s\n", error.ToString().c_str());
  return StatusOf(error);
}

// Lines go to stdout or, with -o, to the end of a file.
class ResultStream {
 public:
  explicit ResultStream(std::string path) : path_(std::move(path)) {}
  void Write(const Json& line) {
    const std::string text = DumpJson(line) + "\n";
    if (path_.empty()) {
      std::fputs(text.c_str(), stdout);
      std::fflush(stdout);
    } else if (status_.ok()) {
      status_ = os::AppendFile(path_, text);
    }
  }
  const Status& status() const { return status_; }

 private:
  std::string path_;
  Status status_;
};

Result<std::vector<verify::BatchItem>> ItemsToDo(const VerifyOptions& options) {
  KUAFU_TRY(const verify::Request defaults, RequestFrom(options));
  KUAFU_TRY(const std::string list, os::ReadFile(options.batch, verify::kBatchBytesMax));
  KUAFU_TRY(std::vector<verify::BatchItem> items, verify::ParseBatch(list, defaults));
  if (options.output.empty() || !os::FileExists(options.output)) return items;
  KUAFU_TRY(const std::string earlier, os::ReadFile(options.output, verify::kBatchBytesMax));
  const auto finished = verify::FinishedIds(earlier);
  const auto removed = std::erase_if(
      items, [&](const verify::BatchItem& item) { return finished.contains(item.id); });
  if (removed > 0)
    std::fprintf(stderr, "kuafu: %zu verdicts are in %s already\n", static_cast<size_t>(removed),
                 options.output.c_str());
  // A line that an interruption has cut must not swallow the next one.
  if (!earlier.empty() && earlier.back() != '\n')
    KUAFU_TRY_STATUS(os::AppendFile(options.output, "\n"));
  return items;
}

ExitStatus VerifyBatch(const VerifyOptions& options) {
  Result<std::vector<verify::BatchItem>> items = ItemsToDo(options);
  if (!items.ok()) return Complain(items.error());
  const int threads = options.threads > 0 ? options.threads : os::CpuCount();
  Result<std::unique_ptr<verify::Verifier>> verifier =
      StartVerifier({.compile_workers = threads, .cache = options.cache});
  if (!verifier.ok()) return Complain(verifier.error());
  std::signal(SIGINT, OnInterrupt);
  std::signal(SIGTERM, OnInterrupt);
  ResultStream results(options.output);
  int64_t done = 0;
  trace::Progress progress("verify", static_cast<int64_t>(items.value().size()));
  const verify::BatchSummary summary = verify::RunBatch(
      *verifier.value(), items.value(), threads,
      [&](const Json& line) {
        results.Write(line);
        progress.Update(++done);
      },
      [] { return g_interrupted != 0; });
  progress.Finish();
  if (!results.status().ok()) return Complain(results.status().error());
  std::fprintf(stderr, "kuafu: %lld passed, %lld failed, %lld could not be judged\n",
               static_cast<long long>(summary.passed), static_cast<long long>(summary.failed),
               static_cast<long long>(summary.errors));
  if (g_interrupted != 0) {
    std::fputs("kuafu: interrupted; the same command with -o goes on where it stopped\n", stderr);
    return kInterrupted;
  }
  return summary.failed + summary.errors == 0 ? kOk : kNegative;
}

}  // namespace

Result<std::string> SiblingProgram(const char* name) {
  KUAFU_TRY(const std::string self, os::ExecutablePath());
  const std::string path = os::JoinPath(os::DirName(self), name);
  if (!os::FileExists(path)) {
    return Error{
        Code::kNotFound,
        "looking for " + path + ": it is not there; build the project again with ./kuafu build"};
  }
  return path;
}

Result<std::unique_ptr<verify::Verifier>> StartVerifier(const VerifierOptions& wanted) {
  verify::Options options;
  if (!wanted.keep_compiled) options.compiled_kept = 0;
  KUAFU_TRY(options.compiler, SiblingProgram("kuafu-compiler"));
  KUAFU_TRY(options.runner, SiblingProgram("kuafu-runner"));
  KUAFU_TRY(options.torch_library, SiblingProgram("libkuafu_torch.so"));
  options.compile_workers = wanted.compile_workers;
  options.runs_max = wanted.runs_max;
  if (wanted.cache) {
    // Without a place for a cache everything works, only slower.
    if (Result<std::string> dir = os::CacheDir(); dir.ok())
      options.cache_dir = os::JoinPath(dir.value(), "trials");
  }
  return verify::Verifier::Start(options);
}

Result<std::unique_ptr<verify::WorkLister>> StartWorkLister(int compile_workers) {
  verify::WorkLister::Options options;
  KUAFU_TRY(options.compiler, SiblingProgram("kuafu-compiler"));
  KUAFU_TRY(options.torch_library, SiblingProgram("libkuafu_torch.so"));
  options.compile_workers = compile_workers;
  return verify::WorkLister::Start(options);
}

Result<verify::Request> RequestFrom(const VerifyOptions& options) {
  verify::Request request;
  request.reference_path = options.reference;
  request.kernel_path = options.kernel;
  std::string target = options.target;
  if (target.empty())
    target = EndsWith(options.kernel, ".mu") ? kDefaultMusaTarget : kDefaultCudaTarget;
  KUAFU_TRY(request.targets, verify::ParseTargets(target));
  KUAFU_TRY(request.plan, verify::ParsePlan(options.plan));
  request.sanitize = options.sanitize;
  request.nominal = options.nominal;
  request.speed = options.speed;
  request.seed = options.seed;
  request.only_trial = options.trial;
  request.timeout_s = options.timeout_s;
  request.policy = options.policy;
  request.compat_kernelbench = options.compat == "kernelbench";
  return request;
}

ExitStatus Verify(const VerifyOptions& options) {
  if (!options.batch.empty()) return VerifyBatch(options);
  Result<verify::Request> request = RequestFrom(options);
  if (!request.ok()) return Complain(request.error());
  Result<std::unique_ptr<verify::Verifier>> verifier = StartVerifier({.cache = options.cache});
  if (!verifier.ok()) return Complain(verifier.error());
  Result<verdict::Verdict> verdict = verifier.value()->Verify(request.value());
  if (!verdict.ok()) return Complain(verdict.error());
  if (options.json) {
    std::puts(DumpJson(verdict::ToJson(verdict.value()), 2).c_str());
  } else {
    std::fputs(verdict::ToText(verdict.value()).c_str(), stdout);
  }
  if (verdict.value().cls == verdict::Class::kInfra) return kEnvironment;
  return verdict.value().pass() ? kOk : kNegative;
}

}  // namespace kuafu::cli
