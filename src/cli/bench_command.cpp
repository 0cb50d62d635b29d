// SPDX-License-Identifier: Apache-2.0
// `kuafu bench verify`: how many candidates a second, and how long one takes, over the corpus.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/verify_command.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/thread_pool.h"
#include "verify/batch.h"

namespace kuafu::cli {
namespace {

constexpr int64_t kIndexBytesMax = 16 << 20;
constexpr int kEntriesMax = 10'000;

Result<verify::BatchItem> Item(const std::string& name, const std::string& reference,
                               const std::string& candidate) {
  VerifyOptions options;
  options.reference = reference;
  options.kernel = candidate;
  KUAFU_TRY(verify::Request request, RequestFrom(options));
  return verify::BatchItem{.id = name, .request = std::move(request)};
}

Result<std::vector<verify::BatchItem>> NativeCorpus() {
  const std::string root = KUAFU_SOURCE_DIR "/kernels/";
  KUAFU_TRY(const std::string text, os::ReadFile(root + "index.json", kIndexBytesMax));
  KUAFU_TRY(const Json index, ParseJson(text));
  const Json* kernels = JsonFind(index, "kernels");
  if (kernels == nullptr || !kernels->is_array())
    return Error{Code::kCorrupt, "reading " + root + "index.json: there is no list of kernels"};
  std::vector<verify::BatchItem> items;
  for (const Json& kernel : *kernels) {
    KUAFU_TRY(const std::string name, JsonString(kernel, "name"));
    KUAFU_TRY(const std::string reference, JsonString(kernel, "reference"));
    KUAFU_TRY(const std::string cuda, JsonString(kernel, "cuda"));
    KUAFU_TRY(verify::BatchItem item, Item(name, root + reference, root + cuda));
    items.push_back(std::move(item));
  }
  return items;
}

// Every folder with a reference, and every candidate in it.
Result<std::vector<verify::BatchItem>> ExtensionCorpus() {
  const std::string root = KUAFU_SOURCE_DIR "/kernels/extension";
  KUAFU_TRY(const std::vector<std::string> folders, os::ListDir(root, kEntriesMax));
  std::vector<verify::BatchItem> items;
  for (const std::string& folder : folders) {
    const std::string path = os::JoinPath(root, folder);
    const std::string reference = os::JoinPath(path, "ref.py");
    if (!os::FileExists(reference)) continue;
    KUAFU_TRY(const std::vector<std::string> files, os::ListDir(path, kEntriesMax));
    for (const std::string& file : files) {
      if (!StartsWith(file, "candidate") || !EndsWith(file, ".py")) continue;
      KUAFU_TRY(verify::BatchItem item,
                Item(folder + "/" + file, reference, os::JoinPath(path, file)));
      items.push_back(std::move(item));
    }
  }
  return items;
}

struct Measured {
  double seconds = 0, per_second = 0;
  double p50_ms = 0, p95_ms = 0;  // of a single candidate, one at a time
  double compile_p50_ms = 0, run_p50_ms = 0;
  int candidates = 0, passed = 0;
};

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  return values[rank];
}

Measured Measure(verify::Verifier& verifier, std::vector<verify::BatchItem> items, bool sanitize,
                 int threads, int rounds) {
  for (verify::BatchItem& item : items) item.request.sanitize = sanitize;
  Measured m;
  const int64_t begin = os::SystemClock().NowNs();
  for (int round = 0; round < rounds; ++round) {
    const verify::BatchSummary summary =
        verify::RunBatch(verifier, items, threads, [](const Json&) {}, [] { return false; });
    m.passed += static_cast<int>(summary.passed);
    m.candidates += static_cast<int>(items.size());
  }
  m.seconds = static_cast<double>(os::SystemClock().NowNs() - begin) / os::kNsPerSecond;
  m.per_second = m.candidates / m.seconds;
  std::vector<double> total, compile, run;
  for (const verify::BatchItem& item : items) {
    Result<verdict::Verdict> verdict = verifier.Verify(item.request);
    if (!verdict.ok()) continue;
    total.push_back(verdict.value().total_ms);
    compile.push_back(verdict.value().compile_ms);
    run.push_back(verdict.value().run_ms);
  }
  m.p50_ms = Percentile(total, 0.5);
  m.p95_ms = Percentile(total, 0.95);
  m.compile_p50_ms = Percentile(compile, 0.5);
  m.run_p50_ms = Percentile(run, 0.5);
  return m;
}

Json ToJson(const Measured& m, bool sanitize) {
  return {
      {"sanitize", sanitize},      {"label", "measured"},  {"candidates", m.candidates},
      {"passed", m.passed},        {"seconds", m.seconds}, {"candidates_per_second", m.per_second},
      {"p50_ms", m.p50_ms},        {"p95_ms", m.p95_ms},   {"compile_p50_ms", m.compile_p50_ms},
      {"run_p50_ms", m.run_p50_ms}};
}

}  // namespace

ExitStatus BenchVerify(const BenchVerifyOptions& options) {
  Result<std::vector<verify::BatchItem>> items =
      options.form == "extension" ? ExtensionCorpus() : NativeCorpus();
  const int threads = options.threads > 0 ? options.threads : os::CpuCount();
  Result<std::unique_ptr<verify::Verifier>> verifier =
      items.ok() ? StartVerifier({.compile_workers = threads, .keep_compiled = false})
                 : Result<std::unique_ptr<verify::Verifier>>(items.error());
  if (!verifier.ok()) {
    std::fprintf(stderr, "kuafu: %s\n", verifier.error().ToString().c_str());
    return StatusOf(verifier.error());
  }
  // Warm: the references have been run, the workers have compiled.
  Measure(*verifier.value(), items.value(), false, threads, 1);
  Json results = Json::array();
  if (!options.json) {
    std::printf(
        "quick plan, %zu candidates in %s form, %d threads, warm; measured on this machine\n",
        items.value().size(), options.form.c_str(), threads);
    std::printf("%-10s %12s %10s %10s %12s %10s %8s\n", "sanitizer", "candidates/s", "p50 ms",
                "p95 ms", "compile p50", "run p50", "passed");
  }
  for (const bool sanitize : {false, true}) {
    const Measured m = Measure(*verifier.value(), items.value(), sanitize, threads, options.rounds);
    results.push_back(ToJson(m, sanitize));
    if (options.json) continue;
    std::printf("%-10s %12.1f %10.1f %10.1f %12.1f %10.1f %4d/%d\n", sanitize ? "on" : "off",
                m.per_second, m.p50_ms, m.p95_ms, m.compile_p50_ms, m.run_p50_ms, m.passed,
                m.candidates);
  }
  if (options.json) std::puts(DumpJson(results, 2).c_str());
  return kOk;
}

}  // namespace kuafu::cli
