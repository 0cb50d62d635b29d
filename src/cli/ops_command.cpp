// SPDX-License-Identifier: Apache-2.0
// `kuafu bench ops`: operators of the engine as fractions of this machine's peak, beside libraries.
#include <algorithm>
#include <cstdio>

#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "ops/gemm_measure.h"
#include "os/thread_pool.h"
#include "trace/trace.h"

namespace kuafu::cli {
namespace {

constexpr int64_t kSizeMax = 16384;

// "1024" or "8x4096x4096" (rows of A, columns of B, length of the sums).
Result<std::vector<ops::GemmCase>> ParseSizes(const std::string& text) {
  std::vector<ops::GemmCase> sizes;
  for (const std::string_view part : Split(text, ',')) {
    std::vector<int64_t> numbers;
    for (const std::string_view number : Split(part, 'x')) {
      const auto value = ParseInt64(number);
      if (!value.has_value() || *value < 1 || *value > kSizeMax) numbers.resize(4);
      numbers.push_back(value.value_or(0));
    }
    if (numbers.size() == 1) numbers = {numbers[0], numbers[0], numbers[0]};
    if (numbers.size() != 3) {
      return Error{Code::kInvalidInput,
                   "--sizes=" + EscapeForMessage(text, 40) +
                       ": a list such as 512,8x2048x2048 of numbers from 1 to " +
                       std::to_string(kSizeMax)};
    }
    sizes.push_back({numbers[0], numbers[1], numbers[2]});
  }
  return sizes;
}

std::string SizeText(const ops::GemmCase& s) {
  if (s.m == s.n && s.n == s.k) return std::to_string(s.m);
  return std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
}

std::string Percent(double fraction) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * fraction);
  return text;
}

void Print(const std::vector<ops::GemmMeasurement>& all) {
  std::puts("Matrix products, measured: medians of fractions of the peak of the same process.\n");
  for (const ops::GemmMeasurement& one : all) {
    std::printf("%s, %s, %d thread%s: peak %.0f GOP/s, inner loop %s\n\n", one.precision.c_str(),
                one.implementation.c_str(), one.threads, one.threads == 1 ? "" : "s",
                one.peak * 1e-9, Percent(one.inner_loop).c_str());
    if (one.rows.empty()) continue;
    std::string head = "| size | packed before | as it is |", rule = "|---|---:|---:|";
    for (const auto& [name, unused] : one.rows.front().peers) {
      head += " " + name + " |";
      rule += "---:|";
    }
    std::printf("%s\n%s\n", head.c_str(), rule.c_str());
    for (const auto& row : one.rows) {
      std::printf("| %s | %s | %s |", SizeText(row.size).c_str(), Percent(row.packed).c_str(),
                  Percent(row.plain).c_str());
      for (const auto& [name, fraction] : row.peers)
        std::printf(" %s |", Percent(fraction).c_str());
      std::puts("");
    }
    std::puts("");
  }
}

Json ToJson(const std::vector<ops::GemmMeasurement>& all) {
  Json list = Json::array();
  for (const ops::GemmMeasurement& one : all) {
    Json rows = Json::array();
    for (const auto& row : one.rows) {
      Json peers = Json::object();
      for (const auto& [name, fraction] : row.peers) peers[name] = fraction;
      rows.push_back({{"m", row.size.m},
                      {"n", row.size.n},
                      {"k", row.size.k},
                      {"packed", row.packed},
                      {"plain", row.plain},
                      {"peers", std::move(peers)}});
    }
    list.push_back({{"op", "gemm"},
                    {"label", "measured"},
                    {"precision", one.precision},
                    {"implementation", one.implementation},
                    {"threads", one.threads},
                    {"peak_ops_per_s", one.peak},
                    {"inner_loop", one.inner_loop},
                    {"rows", std::move(rows)}});
  }
  return list;
}

Result<ExitStatus> RunBench(const BenchOpsOptions& options) {
  ops::GemmMeasureOptions measure;
  KUAFU_TRY(measure.sizes, ParseSizes(options.sizes));
  measure.threads = options.threads;
  measure.cpu = ops::ThisCpu();
  if (options.threads > os::CpuCount()) {
    return Error{Code::kInvalidInput, "--threads=" + std::to_string(options.threads) + ": only " +
                                          std::to_string(os::CpuCount()) +
                                          " processors may be used here"};
  }
  if (!options.precisions.empty()) {
    const auto known = measure.precisions;
    measure.precisions.clear();
    for (const std::string_view name : Split(options.precisions, ',')) {
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        return Error{Code::kInvalidInput,
                     "--precisions=" + EscapeForMessage(options.precisions, 40) +
                         ": a list of f32, f64, bf16 and u8s8"};
      }
      measure.precisions.emplace_back(name);
    }
  }
  trace::Progress progress("products",
                           static_cast<int64_t>(measure.sizes.size() * measure.precisions.size()));
  const auto all = ops::MeasureGemm(measure, [&](int64_t done) { progress.Update(done); });
  progress.Finish();
  if (options.json)
    std::puts(DumpJson(ToJson(all)).c_str());
  else
    Print(all);
  return kOk;
}

}  // namespace

ExitStatus BenchOps(const BenchOpsOptions& options) {
  const Result<ExitStatus> status = RunBench(options);
  if (status.ok()) return status.value();
  std::fprintf(stderr, "kuafu: %s\n", status.error().ToString().c_str());
  return StatusOf(status.error());
}

}  // namespace kuafu::cli
