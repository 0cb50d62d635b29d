// SPDX-License-Identifier: Apache-2.0
// Counters of the service and their Prometheus text. Not thread-safe: its owner has a lock.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace kuafu::verify {

// Seconds; a job is milliseconds when warm and minutes at the end of a long queue.
inline constexpr std::array<double, 16> kLatencyBounds = {
    0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800};

class Histogram {
 public:
  void Add(double seconds);
  void Print(std::string& text, std::string_view name, std::string_view help) const;

 private:
  std::array<int64_t, kLatencyBounds.size() + 1> counts_{};
  double sum_ = 0;
};

struct ServiceMetrics {
  std::map<std::string, int64_t> ended;     // by class of the verdict, or "error", "cancelled"
  std::map<std::string, int64_t> rejected;  // "queue_full", "draining", "conflict", "store"
  int64_t submitted = 0, known = 0, infra_retries = 0, expired = 0, restored = 0;
  double compile_seconds = 0, run_seconds = 0, busy_seconds = 0;
  Histogram latency, wait;  // from submission to the end, and to the start
};

struct ServiceGauges {
  int64_t queued = 0, queue_max = 0, running = 0, threads = 0, kept = 0;
  bool draining = false;
};

std::string PrometheusText(const ServiceMetrics& metrics, const ServiceGauges& gauges);

}  // namespace kuafu::verify
