// SPDX-License-Identifier: Apache-2.0
// `kuafu verify-server`: the verifier behind HTTP, until a signal ends it.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/verify_command.h"
#include "cli/verify_server_api.h"
#include "http/server.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/thread_pool.h"
#include "trace/trace.h"
#include "verify/batch.h"
#include "verify/service.h"

namespace kuafu::cli {
namespace {

constexpr int64_t kTickMs = 100;
constexpr int64_t kKeyFileBytesMax = 1 << 20;
constexpr int64_t kLastAnswersMs = 5'000;  // for answers on their way when the work is done

volatile std::sig_atomic_t g_signals = 0;
void OnSignal(int) { g_signals = g_signals + 1; }

ExitStatus Complain(const Error& error) {
  std::fprintf(stderr, "kuafu: %s\n", error.ToString().c_str());
  return StatusOf(error);
}

Result<verify::Request> RequestFor(const verify::JobSpec& spec) {
  verify::Request request;
  const bool musa = spec.form == "musa";
  request.reference_path = "reference.py";
  request.kernel_path = std::string("candidate.") + (musa                       ? "mu"
                                                     : spec.form == "extension" ? "py"
                                                                                : "cu");
  request.reference_text = spec.reference;
  request.kernel_text = spec.candidate;
  const std::string fitting = musa ? kDefaultMusaTarget : kDefaultCudaTarget;
  KUAFU_TRY(request.targets, verify::ParseTargets(spec.target.empty() ? fitting : spec.target));
  KUAFU_TRY(request.plan, verify::ParsePlan(spec.plan));
  if (!spec.policy.empty()) request.policy = spec.policy;
  request.sanitize = spec.sanitize;
  request.nominal = request.speed = spec.nominal;
  request.seed = spec.seed;
  request.timeout_s = spec.timeout_s;
  return request;
}

Result<http::ServerOptions> ListenOptions(const VerifyServerOptions& options,
                                          std::vector<std::string>& keys) {
  KUAFU_TRY(const http::Endpoint endpoint, http::ParseEndpoint(options.listen));
  if (!options.api_key_file.empty()) {
    KUAFU_TRY(const std::string text, os::ReadFile(options.api_key_file, kKeyFileBytesMax));
    Result<std::vector<std::string>> parsed = http::ParseKeys(text);
    if (!parsed.ok()) return std::move(parsed).error().WithContext(options.api_key_file);
    keys = std::move(parsed).value();
  } else if (!endpoint.loopback) {
    return Error{Code::kInvalidInput, "listening on " + options.listen +
                                          ", which others can reach: name keys with "
                                          "--api-key-file=FILE"};
  }
  http::ServerOptions http;
  http.host = endpoint.host;
  http.port = endpoint.port;
  http.limits.body_bytes = 64 * kMiB;  // of a batch
  return http;
}

std::string ConnectionMetrics(const http::ServerCounters& c) {
  const auto line = [](const char* name, const char* type, int64_t value) {
    return "# TYPE " + std::string(name) + " " + type + "\n" + name + " " + std::to_string(value) +
           "\n";
  };
  return line("kuafu_http_connections", "gauge", c.connections) +
         line("kuafu_http_connections_total", "counter", c.accepted) +
         line("kuafu_http_connections_refused_total", "counter", c.refused) +
         line("kuafu_http_requests_total", "counter", c.requests) +
         line("kuafu_http_malformed_total", "counter", c.malformed);
}

void SleepMs(int64_t ms) { os::SystemClock().SleepNs(ms * os::kNsPerMs); }

// Running jobs are finished, up to a limit; a second signal is one.
bool Drain(verify::Service& service, http::Server& server, int64_t drain_s) {
  service.BeginDrain();
  const os::Deadline deadline = os::Deadline::AfterMs(drain_s * 1000);
  while (!service.Drained() && !deadline.Expired() && g_signals < 2) {
    SleepMs(kTickMs);
    service.Tick();
  }
  const bool drained = service.Drained();
  service.EndWaits(Error{Code::kUnavailable, "this server has stopped; send the job again"});
  server.StopAccepting();
  const os::Deadline last = os::Deadline::AfterMs(kLastAnswersMs);
  while (!server.Quiet() && !last.Expired() && g_signals < 2) SleepMs(kTickMs / 5);
  server.Stop();
  return drained;
}

}  // namespace

ExitStatus VerifyServer(const VerifyServerOptions& options) {
  std::signal(SIGINT, OnSignal);
  std::signal(SIGTERM, OnSignal);
  trace::SetLevel(trace::Level::kInfo);
  std::vector<std::string> keys;
  Result<http::ServerOptions> http = ListenOptions(options, keys);
  if (!http.ok()) return Complain(http.error());
  const int runs = options.jobs > 0 ? options.jobs : os::CpuCount();
  const int compiles = options.compile_workers > 0 ? options.compile_workers : os::CpuCount();
  Result<std::unique_ptr<verify::Verifier>> verifier =
      StartVerifier({.compile_workers = compiles, .runs_max = runs, .cache = options.cache});
  if (!verifier.ok()) return Complain(verifier.error());
  // One thread for each job that may run and each that may compile meanwhile.
  Result<std::unique_ptr<verify::Service>> service = verify::Service::Start(
      {.threads = runs + compiles, .queue_max = options.queue, .store_dir = options.store},
      [&verifier](const verify::JobSpec& spec) -> Result<verdict::Verdict> {
        KUAFU_TRY(const verify::Request request, RequestFor(spec));
        KUAFU_TRY(verdict::Verdict verdict, verifier.value()->Verify(request));
        verdict.task = spec.task.empty() ? request.reference_path : spec.task;
        return verdict;
      });
  if (!service.ok()) return Complain(service.error());
  std::atomic<http::Server*> running = nullptr;  // a request may ask before it is set
  VerifyApi api(*service.value(), {.keys = keys, .more_metrics = [&running] {
                                     const http::Server* s = running;
                                     return s == nullptr ? std::string()
                                                         : ConnectionMetrics(s->counters());
                                   }});
  http.value().admit = [&api](const http::Request& request) { return api.Admit(request); };
  Result<std::unique_ptr<http::Server>> server = http::Server::Start(
      std::move(http).value(), [&api](http::Request request, http::Responder responder) {
        api.Handle(std::move(request), std::move(responder));
      });
  if (!server.ok()) return Complain(server.error());
  running = server.value().get();
  std::printf("kuafu: listening on port %d, %d runs and %d compilations at a time, %s\n",
              static_cast<int>(server.value()->port()), runs, compiles,
              keys.empty() ? "no key needed" : "with API keys");
  std::fflush(stdout);
  while (g_signals == 0) {
    SleepMs(kTickMs);
    service.value()->Tick();
  }
  std::fprintf(stderr, "kuafu: stopping: running jobs are finished\n");
  if (!Drain(*service.value(), *server.value(), options.drain_s)) {
    std::fprintf(stderr, "kuafu: gave up jobs that were still running\n");
    std::fflush(nullptr);
    std::_Exit(kOk);  // their threads would be waited for
  }
  return kOk;
}

}  // namespace kuafu::cli
