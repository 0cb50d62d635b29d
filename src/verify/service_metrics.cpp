// SPDX-License-Identifier: Apache-2.0
// Prometheus text format 0.0.4.
#include "verify/service_metrics.h"

#include <cstdio>

namespace kuafu::verify {
namespace {

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

void Head(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
  const std::string n(name);
  text +=
      "# HELP " + n + " " + std::string(help) + "\n# TYPE " + n + " " + std::string(type) + "\n";
}

void One(std::string& text, std::string_view name, std::string_view type, double value,
         std::string_view help) {
  Head(text, name, type, help);
  text += std::string(name) + " " + Number(value) + "\n";
}

void ByLabel(std::string& text, std::string_view name, std::string_view label,
             const std::map<std::string, int64_t>& values, std::string_view help) {
  Head(text, name, "counter", help);
  for (const auto& [key, value] : values) {
    text += std::string(name) + "{" + std::string(label) + "=\"" + key + "\"} " +
            std::to_string(value) + "\n";
  }
}

}  // namespace

void Histogram::Add(double seconds) {
  size_t at = 0;
  while (at < kLatencyBounds.size() && seconds > kLatencyBounds[at]) ++at;
  ++counts_[at];
  sum_ += seconds;
}

void Histogram::Print(std::string& text, std::string_view name, std::string_view help) const {
  Head(text, name, "histogram", help);
  const std::string n(name);
  int64_t below = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    const std::string bound = i < kLatencyBounds.size() ? Number(kLatencyBounds[i]) : "+Inf";
    text += n + "_bucket{le=\"" + bound + "\"} " + std::to_string(below) + "\n";
  }
  text += n + "_sum " + Number(sum_) + "\n" + n + "_count " + std::to_string(below) + "\n";
}

std::string PrometheusText(const ServiceMetrics& m, const ServiceGauges& g) {
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  std::string text;
  ByLabel(text, "kuafu_jobs_total", "class", m.ended,
          "jobs that ended, by the class of the verdict");
  ByLabel(text, "kuafu_jobs_rejected_total", "reason", m.rejected, "jobs that were not accepted");
  One(text, "kuafu_jobs_submitted_total", "counter", number(m.submitted), "jobs accepted");
  One(text, "kuafu_jobs_known_total", "counter", number(m.known),
      "submissions of a job that was there already");
  One(text, "kuafu_jobs_restored_total", "counter", number(m.restored),
      "unfinished jobs taken from the journal at the start");
  One(text, "kuafu_jobs_expired_total", "counter", number(m.expired), "answers forgotten");
  One(text, "kuafu_infra_retries_total", "counter", number(m.infra_retries),
      "jobs tried again because the verifier itself had failed");
  One(text, "kuafu_queue_length", "gauge", number(g.queued), "jobs that wait");
  One(text, "kuafu_queue_limit", "gauge", number(g.queue_max), "jobs that may wait");
  One(text, "kuafu_jobs_running", "gauge", number(g.running), "jobs being judged");
  One(text, "kuafu_threads", "gauge", number(g.threads), "jobs that can be judged at a time");
  One(text, "kuafu_jobs_kept", "gauge", number(g.kept), "answers that can be fetched");
  One(text, "kuafu_draining", "gauge", g.draining ? 1 : 0, "1 when no jobs are accepted any more");
  One(text, "kuafu_compile_seconds_total", "counter", m.compile_seconds, "spent compiling");
  One(text, "kuafu_run_seconds_total", "counter", m.run_seconds, "spent running candidates");
  One(text, "kuafu_busy_seconds_total", "counter", m.busy_seconds, "spent judging, all threads");
  m.latency.Print(text, "kuafu_job_latency_seconds", "from submission to the end of a job");
  m.wait.Print(text, "kuafu_job_wait_seconds", "from submission to the start of a job");
  return text;
}

}  // namespace kuafu::verify
