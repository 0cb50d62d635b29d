// SPDX-License-Identifier: Apache-2.0
// `kuafu bench timemodel`: modelled times of PyTorch against those that KernelBench publishes.
// operators.jsonl keeps what the tasks launch, so that the same command again takes a second.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "cli/cli.h"
#include "eager/published.h"
#include "eager/report.h"
#include "frontend/frontend.h"
#include "os/file.h"
#include "os/thread_pool.h"
#include "task/operators_json.h"
#include "trace/trace.h"
#include "verify/kernelbench.h"

namespace kuafu::cli {
namespace {

namespace bench = verify::kernelbench;

constexpr int kListVersion = 1;  // of the lines of operators.jsonl
constexpr int64_t kTaskMs = 300'000;
constexpr int64_t kTimesBytesMax = int64_t{64} << 20;

struct Listed {
  task::OperatorList list;
  std::string failure;  // empty = there is a list
};
using Lists = std::map<std::string, Listed>;

Result<Listed> ReadLine(const Json& line) {
  Listed listed;
  if (const Json* reason = JsonFind(line, "reason")) {
    listed.failure = reason->is_string() ? reason->get<std::string>() : "no reason given";
    return listed;
  }
  const Json* list = JsonFind(line, "list");
  if (list == nullptr) return Error{Code::kCorrupt, "a line without a list"};
  KUAFU_TRY(listed.list, task::OperatorsFromJson(*list));
  return listed;
}

// What an earlier run found out about the same files.
Result<Lists> ReadKnown(const std::string& path, const std::map<std::string, std::string>& hashes) {
  Lists known;
  if (!os::FileExists(path)) return known;
  KUAFU_TRY(const std::string text, os::ReadFile(path, bench::kLinesBytesMax));
  for (const std::string_view each : SplitLines(text)) {
    const Result<Json> line = ParseJson(each, bench::kLinesBytesMax);
    if (!line.ok()) continue;  // cut short
    const Result<std::string> id = JsonString(line.value(), "id");
    const Result<std::string> hash = JsonString(line.value(), "source_hash");
    const Result<int64_t> version = JsonInt(line.value(), "version");
    if (!id.ok() || !hash.ok() || !version.ok() || version.value() != kListVersion) continue;
    const auto it = hashes.find(id.value());
    if (it == hashes.end() || it->second != hash.value()) continue;
    Result<Listed> listed = ReadLine(line.value());
    if (listed.ok()) known[id.value()] = std::move(listed).value();
  }
  return known;
}

struct Source {
  std::string id, name, text;
};

// One helper for each thread; a line is written as soon as it is known.
Status ListAll(const std::vector<Source>& sources, int jobs, const std::string& path,
               Lists& lists) {
  trace::Progress progress("operators", static_cast<int64_t>(sources.size()));
  std::mutex mutex;  // guards status, lists, next and the file
  Status status;
  int64_t done = 0;
  size_t next = 0;
  os::ThreadPool pool({.threads = jobs, .queue_max = jobs});
  for (int i = 0; i < jobs; ++i) {
    pool.Submit([&] {
      Result<std::unique_ptr<frontend::Helper>> helper = frontend::Helper::Start({});
      while (true) {
        const Source* source = nullptr;
        {
          std::lock_guard lock(mutex);
          if (!helper.ok() && status.ok()) status = helper.error();
          if (!status.ok() || next == sources.size()) return;
          source = &sources[next++];
        }
        Result<task::OperatorList> list = helper.value()->ListOperators(
            {.source = source->text, .name = source->name}, os::Deadline::AfterMs(kTaskMs));
        Json line = {
            {"id", source->id}, {"version", kListVersion}, {"source_hash", HashHex(source->text)}};
        if (list.ok()) {
          line["list"] = ToJson(list.value());
        } else {
          line["reason"] = list.error().ToString();
        }
        std::lock_guard lock(mutex);
        if (!list.ok() && list.error().code == Code::kUnavailable) {
          status = list.error();
          return;
        }
        Listed& listed = lists[source->id];
        if (list.ok()) {
          listed.list = std::move(list).value();
        } else {
          listed.failure = list.error().ToString();
        }
        const Status written = os::AppendFile(path, DumpJson(line) + "\n");
        if (!written.ok()) status = written;
        progress.Update(++done);
      }
    });
  }
  pool.WaitIdle();
  progress.Finish();
  return status;
}

Result<Lists> ListTasks(const TimeModelOptions& options,
                        const std::vector<bench::BenchTask>& tasks) {
  const std::string path = os::JoinPath(options.output, "operators.jsonl");
  std::map<std::string, std::string> hashes;
  std::vector<Source> left;
  for (const bench::BenchTask& task : tasks) {
    KUAFU_TRY(std::string text, os::ReadFile(task.path, kSourceBytesMax));
    hashes[task.id] = HashHex(text);
    left.push_back({.id = task.id, .name = os::BaseName(task.path), .text = std::move(text)});
  }
  KUAFU_TRY(Lists lists, ReadKnown(path, hashes));
  std::erase_if(left, [&](const Source& source) { return lists.contains(source.id); });
  if (!left.empty()) KUAFU_TRY_STATUS(ListAll(left, options.jobs, path, lists));
  return lists;
}

struct Times {
  std::vector<eager::PublishedTime> eager, compile;
};

Result<Times> ReadTimes(const std::string& root) {
  const std::string folder = os::JoinPath(os::JoinPath(root, "results"), "timing");
  Times times;
  KUAFU_TRY(const std::vector<std::string> names, os::ListDir(folder));
  const std::pair<const char*, std::vector<eager::PublishedTime>*> kinds[] = {
      {"baseline_time_torch.json", &times.eager},
      {"baseline_time_torch_compile_inductor_default.json", &times.compile}};
  for (const std::string& name : names) {
    for (const auto& [file, into] : kinds) {
      const std::string path = os::JoinPath(os::JoinPath(folder, name), file);
      if (!os::FileExists(path)) continue;
      KUAFU_TRY(const std::string text, os::ReadFile(path, kTimesBytesMax));
      auto read = eager::ParseKernelBench(text);
      if (!read.ok()) return std::move(read).error().WithContext(path);
      into->insert(into->end(), read.value().begin(), read.value().end());
    }
  }
  if (times.eager.empty()) {
    return Error{Code::kNotFound, "looking for published times: no folder of " + folder +
                                      " has a baseline_time_torch.json with a mean"};
  }
  return times;
}

struct Samples {
  std::vector<eager::Sample> eager, compile;
  std::map<std::string, task::OperatorList> fused;
  std::vector<std::string> left_out;
};

std::vector<eager::Sample> Match(const std::vector<eager::PublishedTime>& times,
                                 const std::map<std::string, const task::OperatorList*>& lists,
                                 std::map<std::string, std::string>& left_out) {
  std::vector<eager::Sample> samples;
  for (const eager::PublishedTime& time : times) {
    const auto it = lists.find(time.id);
    if (it == lists.end()) continue;  // of a level that was not asked for
    const device::Profile* profile = device::FindProfile(time.profile);
    if (profile == nullptr) {
      left_out[time.hardware] = "there is no profile of this GPU";
      continue;
    }
    if (const char* why = eager::ChangedSince(time)) {
      left_out[time.id + " on " + time.profile] = why;
      continue;
    }
    samples.push_back({.id = time.id,
                       .level = time.id.size() > 5 ? time.id[5] - '0' : 0,
                       .list = it->second,
                       .machine = eager::MachineOf(*profile),
                       .measured_ms = time.ms});
  }
  return samples;
}

Samples MakeSamples(const Times& times, const Lists& lists) {
  Samples samples;
  std::map<std::string, const task::OperatorList*> plain, fused;
  std::map<std::string, std::string> left_out;
  for (const auto& [id, listed] : lists) {
    if (!listed.failure.empty()) {
      left_out[id] = listed.failure;
      continue;
    }
    samples.fused[id] = eager::Fused(listed.list);
    plain[id] = &listed.list;
    fused[id] = &samples.fused[id];
  }
  samples.eager = Match(times.eager, plain, left_out);
  samples.compile = Match(times.compile, fused, left_out);
  for (const auto& [what, why] : left_out) samples.left_out.push_back(what + ": " + why);
  return samples;
}

// Looks at the fitting part only.
Status FitAndPrint(const Samples& samples, const std::string& output) {
  std::vector<eager::Sample> part;
  for (const eager::Sample& sample : samples.eager) {
    if (eager::IsForFitting(sample.id)) part.push_back(sample);
  }
  const eager::FitResult found = eager::Fit(part, eager::Constants(), {});
  std::string text;
  for (int i = 0; i < eager::kConstantCount; ++i) {
    const eager::ConstantInfo& info = eager::kConstants[i];
    char line[256];
    std::snprintf(line, sizeof line, "CONSTANT(%s, %g, %g, %g, \"%s\")\n", info.name,
                  found.constants.at(i), info.low, info.high, info.text);
    text += line;
  }
  KUAFU_TRY_STATUS(os::WriteFileAtomic(os::JoinPath(output, "constants.def"), text));
  std::vector<eager::Judged> judged;
  for (const eager::Sample& sample : part)
    judged.push_back(eager::Judge(sample, "eager", found.constants));
  std::string lines;
  for (const eager::Judged& one : judged) lines += DumpJson(eager::ToJson(one)) + "\n";
  KUAFU_TRY_STATUS(os::WriteFileAtomic(os::JoinPath(output, "fit.jsonl"), lines));
  std::printf("%sfitted on %zu published times; loss %.3f -> %.3f; constants %s\n", text.c_str(),
              part.size(), found.loss_before, found.loss_after, found.constants.Hash().c_str());
  return OkStatus();
}

Status JudgeAndPrint(const Samples& samples, const std::string& output) {
  const eager::Constants constants;
  std::vector<eager::Judged> judged;
  for (const eager::Sample& sample : samples.eager)
    judged.push_back(eager::Judge(sample, "eager", constants));
  for (const eager::Sample& sample : samples.compile)
    judged.push_back(eager::Judge(sample, "compile", constants));
  std::string lines;
  for (const eager::Judged& one : judged) {
    Json line = eager::ToJson(one);
    line["constants"] = constants.Hash();
    lines += DumpJson(line) + "\n";
  }
  const std::string report =
      eager::Report(judged, {.constants_hash = constants.Hash(), .left_out = samples.left_out});
  KUAFU_TRY_STATUS(os::WriteFileAtomic(os::JoinPath(output, "times.jsonl"), lines));
  KUAFU_TRY_STATUS(os::WriteFileAtomic(os::JoinPath(output, "summary.md"), report));
  KUAFU_TRY_STATUS(
      os::WriteFileAtomic(os::JoinPath(output, "scatter.svg"), eager::ScatterSvg(judged)));
  std::fputs(report.c_str(), stdout);
  return OkStatus();
}

Status RunAll(TimeModelOptions options) {
  if (options.output.empty()) options.output = "timemodel";
  std::vector<int> levels;
  for (const int level : {1, 2, 3}) {
    const std::string folder = "level" + std::to_string(level);
    if (os::IsDirectory(os::JoinPath(os::JoinPath(options.kernelbench, "KernelBench"), folder)))
      levels.push_back(level);
  }
  if (levels.empty()) levels = {1};  // so that the error names the folder
  KUAFU_TRY(const Times times, ReadTimes(options.kernelbench));
  KUAFU_TRY(const auto tasks, bench::ListTasks(options.kernelbench, levels));
  KUAFU_TRY_STATUS(os::MakeDirs(options.output));
  KUAFU_TRY(const Lists lists, ListTasks(options, tasks));
  const Samples samples = MakeSamples(times, lists);
  return options.fit ? FitAndPrint(samples, options.output)
                     : JudgeAndPrint(samples, options.output);
}

}  // namespace

ExitStatus BenchTimeModel(const TimeModelOptions& options) {
  const Status status = RunAll(options);
  if (status.ok()) return kOk;
  std::fprintf(stderr, "kuafu: %s\n", status.error().ToString().c_str());
  return StatusOf(status.error());
}

}  // namespace kuafu::cli
