// SPDX-License-Identifier: Apache-2.0
// `kuafu bench timemodel --cuda-l1=DIR`: modelled speed-ups of published kernels against measured
// ones. work.jsonl keeps what each file has a GPU do, so that the same command goes on where it
// stopped; times are modelled anew from it.
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/verify_command.h"
#include "device/profile.h"
#include "os/file.h"
#include "os/thread_pool.h"
#include "trace/trace.h"
#include "verify/batch.h"
#include "verify/cudal1.h"
#include "verify/work.h"

namespace kuafu::cli {
namespace {

namespace cudal1 = verify::cudal1;

constexpr int kTimeoutSeconds = 120;
constexpr int64_t kWorkBytesMax = int64_t{2} << 30;
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
    for (cudal1::Entry& entry : entries.value()) {
      if (entry.kernels || options.all) all.push_back(std::move(entry));
    }
  }
  if (all.empty())
    return Error{Code::kNotFound, "looking for kernels of '" + options.gpu + "': none"};
  return all;
}

Json LineOf(verify::WorkLister& lister, const cudal1::Entry& entry) {
  auto work = lister.List(
      {.reference = entry.reference,
       .candidate = entry.candidate,
       .target = {.text = "sim:" + entry.gpu, .profile = device::FindProfile(entry.gpu)},
       .timeout_s = kTimeoutSeconds});
  Json line = {{"id", entry.id}};
  if (work.ok())
    line["work"] = std::move(work).value();
  else
    line["error"] = work.error().message;
  return line;
}

Status ListMissing(const TimeModelOptions& options, const std::vector<cudal1::Entry>& entries,
                   const std::string& path) {
  std::map<std::string, bool> finished;
  if (os::FileExists(path)) {
    KUAFU_TRY(const std::string earlier, os::ReadFile(path, kWorkBytesMax));
    // A line that was cut short must not swallow the next one.
    if (!earlier.empty() && earlier.back() != '\n') KUAFU_TRY_STATUS(os::AppendFile(path, "\n"));
    for (const std::string_view text : SplitLines(earlier)) {
      const Result<Json> line = ParseJson(text, kWorkBytesMax);
      if (!line.ok()) continue;  // cut short
      if (const auto id = JsonString(line.value(), "id"); id.ok()) finished[id.value()] = true;
    }
  }
  std::vector<const cudal1::Entry*> missing;
  for (const cudal1::Entry& entry : entries) {
    if (!finished.contains(entry.id)) missing.push_back(&entry);
  }
  if (missing.empty()) return OkStatus();
  KUAFU_TRY(const auto lister, StartWorkLister(options.jobs));
  trace::Progress progress("kernels", std::ssize(missing));
  std::mutex mutex;  // guards what follows
  int64_t done = 0;
  Status written;
  {
    os::ThreadPool pool({.threads = options.jobs, .queue_max = 1024});
    for (const cudal1::Entry* entry : missing) {
      pool.Submit([&, entry] {
        const Json line = LineOf(*lister, *entry);
        std::lock_guard lock(mutex);
        if (written.ok()) written = os::AppendFile(path, DumpJson(line) + "\n");
        progress.Update(++done);
      });
    }
  }
  progress.Finish();
  return written;
}

cudal1::Judged JudgedOf(const cudal1::Entry& entry, const Json& line) {
  cudal1::Judged judged{.entry = entry, .time = {}, .build_error = ""};
  judged.time.why = "not listed";
  if (const auto error = JsonString(line, "error"); error.ok()) judged.time.why = error.value();
  const Json* work = JsonFind(line, "work");
  if (work == nullptr) return judged;
  judged.time = verify::TimeOf(*work, *device::FindProfile(entry.gpu), verify::HostConstants());
  const Json* errors = JsonFind(*work, "compile_errors");
  if (errors != nullptr && errors->is_array() && !errors->empty() && (*errors)[0].is_string())
    judged.build_error = (*errors)[0].get<std::string>();
  return judged;
}

Status RunAll(TimeModelOptions options) {
  if (options.output.empty()) options.output = "timemodel-cuda-l1";
  KUAFU_TRY(const std::vector<cudal1::Entry> entries, ReadAll(options));
  KUAFU_TRY_STATUS(os::MakeDirs(options.output));
  const std::string path = os::JoinPath(options.output, "work.jsonl");
  KUAFU_TRY_STATUS(ListMissing(options, entries, path));
  KUAFU_TRY(const std::string earlier, os::ReadFile(path, kWorkBytesMax));
  std::map<std::string, const cudal1::Entry*> by_id;
  for (const cudal1::Entry& entry : entries) by_id[entry.id] = &entry;
  std::vector<cudal1::Judged> judged;
  std::deque<Json> looked_at;
  std::vector<cudal1::Sample> samples;
  for (const std::string_view text : SplitLines(earlier)) {
    const Result<Json> line = ParseJson(text, kWorkBytesMax);
    if (!line.ok()) continue;
    const auto id = JsonString(line.value(), "id");
    if (!id.ok()) continue;
    const auto entry = by_id.find(id.value());
    if (entry == by_id.end()) continue;
    judged.push_back(JudgedOf(*entry->second, line.value()));
    if (options.fit && cudal1::IsForFitting(judged.back().entry) && judged.back().time.known &&
        judged.back().time.approximate.empty()) {
      looked_at.push_back(*JsonFind(line.value(), "work"));
      samples.push_back({&looked_at.back(), device::FindProfile(judged.back().entry.gpu),
                         judged.back().entry.speedup});
    }
    by_id.erase(entry);
  }
  if (options.fit) {
    const verify::HostConstants fitted = cudal1::Fit(samples);
    for (size_t i = 0; i < std::size(verify::kHostConstants); ++i) {
      const verify::HostConstantInfo& info = verify::kHostConstants[i];
      std::printf("CONSTANT(%s, %.3g, %g, %g, \"%s\")\n", info.name,
                  fitted[static_cast<verify::HostConstant>(i)], info.low, info.high, info.text);
    }
    return OkStatus();
  }
  const std::string report = cudal1::Report(judged, verify::HostConstants());
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

ExitStatus BenchBothTimeModels(const TimeModelOptions& options) {
  TimeModelOptions one = options;
  if (!options.output.empty()) one.output = os::JoinPath(options.output, "kernelbench");
  const ExitStatus first = BenchTimeModel(one);
  if (first != kOk) return first;
  if (!options.output.empty()) one.output = os::JoinPath(options.output, "cuda-l1");
  std::fputs("\n", stdout);
  return BenchCudaL1(one);
}

}  // namespace kuafu::cli
