// SPDX-License-Identifier: Apache-2.0
// `kuafu doctor`: what this machine has of what Kuafu uses.
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "device/profile.h"
#include "os/file.h"
#include "os/process.h"

namespace kuafu::cli {
namespace {

struct Tool {
  const char* name;
  std::vector<std::string> argv;
  const char* needed_for;
};

// The first line that the tool prints, or empty when it is not there or does not answer in time.
std::string FirstLine(const std::vector<std::string>& argv) {
  Result<os::Process> process =
      os::Spawn(argv, {.stdout_stream = os::Stream::kCapture, .stderr_stream = os::Stream::kNull});
  if (!process.ok()) return {};
  Result<os::ExitStatus> status = process.value().Wait(os::Deadline::AfterMs(20'000));
  if (!status.ok() || !status.value().ok()) return {};
  const auto lines = SplitLines(process.value().captured_stdout());
  return lines.empty() ? std::string()
                       : std::string(lines.back().empty() ? lines.front() : lines.front());
}

}  // namespace

ExitStatus Doctor(bool json) {
  const Tool tools[] = {
      {"g++", {"/usr/bin/g++", "--version"}, "building, linking host code"},
      {"clang-19", {"/usr/bin/clang-19", "--version"}, "the kernel compiler's library"},
      {"nvcc", {"/usr/local/cuda/bin/nvcc", "--version"}, "an extra compile gate (optional)"},
      {"mcc", {"/usr/local/musa/bin/mcc", "--version"}, "an extra compile gate (optional)"},
      {"pytorch",
       {"/usr/bin/python3", "-c", "import torch; print(torch.__version__)"},
       "running references"},
  };
  Json answer;
  answer["cores"] = std::thread::hardware_concurrency();
  answer["memory_bytes"] = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  answer["tools"] = Json::array();
  for (const Tool& tool : tools) {
    answer["tools"].push_back(
        {{"name", tool.name}, {"version", FirstLine(tool.argv)}, {"needed_for", tool.needed_for}});
  }
  answer["devices"] = Json::array();
  for (const device::Profile& p : device::Profiles()) {
    answer["devices"].push_back({{"target", "sim:" + std::string(p.name)},
                                 {"title", p.title},
                                 {"kind", "simulated"},
                                 {"warp_width", p.warp_width}});
  }
  if (json) {
    std::puts(DumpJson(answer, 2).c_str());
    return kOk;
  }
  std::printf("machine   %u cores, %s\n", std::thread::hardware_concurrency(),
              FormatBytes(answer["memory_bytes"].get<int64_t>()).c_str());
  for (const Json& t : answer["tools"]) {
    const auto version = t["version"].get<std::string>();
    std::printf("%-9s %s (%s)\n", t["name"].get<std::string>().c_str(),
                version.empty() ? "not found" : version.c_str(),
                t["needed_for"].get<std::string>().c_str());
  }
  for (const device::Profile& p : device::Profiles())
    std::printf("device    sim:%-10s %s, simulated, warp width %u\n", p.name, p.title,
                p.warp_width);
  return kOk;
}

}  // namespace kuafu::cli
