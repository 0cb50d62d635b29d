// SPDX-License-Identifier: Apache-2.0
// `kuafu bench timemodel --cuda-l1=DIR`: modelled speed-ups of published kernels against measured
// ones. verdicts.jsonl keeps what was judged, so that the same command goes on where it stopped.
#include <cstdio>
#include <map>
#include <memory>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/verify_command.h"
#include "device/profile.h"
#include "os/file.h"
#include "trace/trace.h"
#include "verify/batch.h"
#include "verify/cudal1.h"

namespace kuafu::cli {
namespace {

namespace cudal1 = verify::cudal1;

constexpr int kTimeoutSeconds = 300;
// Files of a checkout whose GPU has a profile.
constexpr struct {
  const char *file, *profile;
} kSets[] = {{"h100.json", "h100"}, {"a100.json", "a100"}, {"3090.json", "rtx3090"}};

Result<std::vector<cudal1::Entry>> ReadAll(const TimeModelOptions& options) {
  std::vector<cudal1::Entry> all;
  const std::string folder = os::JoinPath(options.cuda_l1, "optimized_cuda_code");
  for (const auto& set : kSets) {
    if (!options.gpu.empty() && options.gpu != set.profile) continue;
    KUAFU_TRY(const std::string text,
              os::ReadFile(os::JoinPath(folder, set.file), cudal1::kBytesMax));
    auto entries = cudal1::Parse(text, set.profile);
    if (!entries.ok()) return std::move(entries).error().WithContext(set.file);
    all.insert(all.end(), entries.value().begin(), entries.value().end());
  }
  if (all.empty())
    return Error{Code::kNotFound, "looking for kernels of '" + options.gpu + "': none"};
  return all;
}

verify::BatchItem ItemOf(const cudal1::Entry& entry) {
  verify::BatchItem item{.id = entry.id, .request = {}};
  item.request.reference_path = "ref.py";
  item.request.kernel_path = "candidate.py";
  item.request.reference_text = entry.reference;
  item.request.kernel_text = entry.candidate;
  item.request.targets = {{.text = "sim:" + entry.gpu, .profile = device::FindProfile(entry.gpu)}};
  item.request.sanitize = false;
  item.request.policy = KUAFU_SOURCE_DIR "/src/verify/policy/times.json";
  item.request.nominal = item.request.speed = true;
  item.request.timeout_s = kTimeoutSeconds;
  item.request.seed = 1;
  return item;
}

cudal1::Judged JudgedOf(const cudal1::Entry& entry, const Json& line) {
  cudal1::Judged judged{.entry = entry, .speed = {}, .cls = "error"};
  if (const Json* document = JsonFind(line, "verdict")) {
    const auto v = verdict::FromJson(*document);
    if (!v.ok()) return judged;
    judged.cls = std::string(verdict::ClassName(v.value().cls));
    judged.speed = v.value().speed;
    if (!v.value().pass()) judged.speed.why = v.value().summary;
    return judged;
  }
  const Json* error = JsonFind(line, "error");
  const Result<std::string> message =
      error == nullptr ? Result<std::string>(Error{Code::kNotFound, "not judged"})
                       : JsonString(*error, "message");
  judged.speed.why = message.ok() ? message.value() : message.error().message;
  return judged;
}

Status RunAll(TimeModelOptions options) {
  if (options.output.empty()) options.output = "timemodel-cuda-l1";
  KUAFU_TRY(const std::vector<cudal1::Entry> entries, ReadAll(options));
  KUAFU_TRY_STATUS(os::MakeDirs(options.output));
  const std::string path = os::JoinPath(options.output, "verdicts.jsonl");
  std::string earlier;
  if (os::FileExists(path)) {
    KUAFU_TRY(earlier, os::ReadFile(path, verify::kBatchBytesMax));
  }
  const auto finished = verify::FinishedIds(earlier);
  std::vector<verify::BatchItem> items;
  for (const cudal1::Entry& entry : entries) {
    if (!finished.contains(entry.id)) items.push_back(ItemOf(entry));
  }
  if (!items.empty()) {
    KUAFU_TRY(const auto verifier, StartVerifier({.compile_workers = options.jobs}));
    trace::Progress progress("kernels", std::ssize(items));
    int64_t done = 0;
    Status written;
    verify::RunBatch(
        *verifier, items, options.jobs,
        [&](const Json& line) {
          if (written.ok()) written = os::AppendFile(path, DumpJson(line) + "\n");
          progress.Update(++done);
        },
        [&] { return !written.ok(); });
    progress.Finish();
    KUAFU_TRY_STATUS(written);
    KUAFU_TRY(earlier, os::ReadFile(path, verify::kBatchBytesMax));
  }
  std::map<std::string, Json> lines;
  for (const std::string_view text : SplitLines(earlier)) {
    Result<Json> line = ParseJson(text, verify::kBatchBytesMax);
    if (!line.ok()) continue;  // cut short
    if (const Result<std::string> id = JsonString(line.value(), "id"); id.ok())
      lines[id.value()] = std::move(line).value();
  }
  std::vector<cudal1::Judged> judged;
  for (const cudal1::Entry& entry : entries) judged.push_back(JudgedOf(entry, lines[entry.id]));
  const std::string report = cudal1::Report(judged);
  KUAFU_TRY_STATUS(os::WriteFileAtomic(os::JoinPath(options.output, "summary.md"), report));
  std::fputs(report.c_str(), stdout);
  return OkStatus();
}

}  // namespace

ExitStatus BenchCudaL1(const TimeModelOptions& options) {
  const Status status = RunAll(options);
  if (status.ok()) return kOk;
  std::fprintf(stderr, "kuafu: %s\n", status.error().ToString().c_str());
  return StatusOf(status.error());
}

}  // namespace kuafu::cli
