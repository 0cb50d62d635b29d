// SPDX-License-Identifier: Apache-2.0
// Routes of the verification service.
#include "cli/verify_server_api.h"

#include "base/text.h"
#include "os/clock.h"
#include "verify/job.h"

namespace kuafu::cli {
namespace {

using http::Request;
using http::Response;

constexpr size_t kBatchJobsMax = 4096;

enum class Route { kNone, kHealth, kMetrics, kVerify, kBatches, kBatch, kJob };

Route RouteOf(const Request& request) {
  const std::vector<std::string>& s = request.target.segments;
  if (s.size() == 1 && s[0] == "health") return Route::kHealth;
  if (s.size() == 1 && s[0] == "metrics") return Route::kMetrics;
  if (s.size() < 2 || s[0] != "v1") return Route::kNone;
  if (s.size() == 2 && s[1] == "verify") return Route::kVerify;
  if (s.size() == 2 && s[1] == "batches") return Route::kBatches;
  if (s.size() == 3 && s[1] == "batches") return Route::kBatch;
  if (s.size() == 3 && s[1] == "jobs") return Route::kJob;
  return Route::kNone;
}

const char* MethodsOf(Route route) {
  switch (route) {
    case Route::kVerify:
    case Route::kBatches: return "POST";
    case Route::kJob: return "GET, HEAD, DELETE";
    case Route::kNone:
    case Route::kHealth:
    case Route::kMetrics:
    case Route::kBatch: break;
  }
  return "GET, HEAD";
}

bool Allows(Route route, const std::string& method) {
  for (const std::string_view allowed : Split(MethodsOf(route), ',')) {
    if (Trim(allowed) == method) return true;
  }
  return false;
}

// Without a key, a page in a browser on this machine must not get here under a name of its own
// (DNS rebinding). Names that only this machine gives itself, and addresses, are no such names.
bool IsOwnName(const Request& request) {
  const std::string* host = request.Find("host");
  if (host == nullptr) return true;  // HTTP/1.0, no browser
  std::string_view name = *host;
  if (!name.empty() && name.front() == '[') return true;
  name = name.substr(0, name.rfind(':'));
  if (http::SameName(name, "localhost")) return true;
  return !name.empty() && name.find_first_not_of("0123456789.") == std::string_view::npos;
}

// The field "wait", taken out of the object.
Result<bool> TakeWait(Json& body) {
  const Json* field = JsonFind(body, "wait");
  if (field == nullptr) return true;
  KUAFU_TRY(const bool wait, JsonBool(body, "wait"));
  body.erase("wait");
  return wait;
}

Response Ended(const verify::JobView& view) {
  const bool error = view.result.is_object() && view.result.contains("error");
  return http::JsonResponse(error ? 422 : 200, verify::ToJson(view));
}

Response NotYet(const verify::JobView& view) {
  Response response = http::JsonResponse(202, verify::ToJson(view));
  response.headers.push_back({"Location", "/v1/jobs/" + view.id});
  return response;
}

}  // namespace

std::optional<Response> VerifyApi::Admit(const Request& request) const {
  const Route route = RouteOf(request);
  if (options_.keys.empty()) {
    if (!IsOwnName(request))
      return http::ErrorResponse(403, "forbidden",
                                 "without an API key this server answers to its "
                                 "address and to localhost only");
  } else if (route != Route::kHealth && !http::BearerMatches(request, options_.keys)) {
    Response response = http::ErrorResponse(401, "unauthorized",
                                            "send a header 'Authorization: Bearer KEY' with a key "
                                            "of this server");
    response.headers.push_back({"WWW-Authenticate", "Bearer"});
    return response;
  }
  if (route == Route::kNone) {
    return http::ErrorResponse(
        404, "not_found",
        "there is no '" + EscapeForMessage(request.path, 80) + "' here; see docs/verify-server.md");
  }
  if (!Allows(route, request.method)) {
    Response response = http::ErrorResponse(405, "method_not_allowed",
                                            std::string("this path takes ") + MethodsOf(route));
    response.headers.push_back({"Allow", MethodsOf(route)});
    return response;
  }
  // A form in a browser cannot send this type without asking first.
  if (request.method == "POST" && !http::HasJsonType(request)) {
    return http::ErrorResponse(415, "unsupported",
                               "send JSON, with 'Content-Type: application/json'");
  }
  return std::nullopt;
}

void VerifyApi::Handle(Request request, http::Responder responder) {
  switch (RouteOf(request)) {
    case Route::kNone: break;
    case Route::kHealth: return responder.Send(Health());
    case Route::kMetrics: {
      Response response;
      response.content_type = "text/plain; version=0.0.4; charset=utf-8";
      response.body = service_.Metrics();
      if (options_.more_metrics != nullptr) response.body += options_.more_metrics();
      return responder.Send(std::move(response));
    }
    case Route::kVerify: return PostVerify(request, std::move(responder));
    case Route::kBatches: return responder.Send(PostBatch(request));
    case Route::kBatch: return responder.Send(GetBatch(request));
    case Route::kJob:
      return responder.Send(request.method == "DELETE" ? DeleteJob(request.target.segments[2])
                                                       : GetJob(request.target.segments[2]));
  }
  responder.Send(http::ErrorResponse(404, "not_found", "there is nothing here"));
}

Response VerifyApi::Health() const {
  const verify::ServiceCounts counts = service_.counts();
  return http::JsonResponse(counts.draining ? 503 : 200,
                            {{"status", counts.draining ? "draining" : "ready"},
                             {"queued", counts.queued},
                             {"running", counts.running},
                             {"kept", counts.kept}});
}

Response VerifyApi::Refusal(const Error& error) const {
  // What has expired is gone for good; every other code has its status.
  if (error.code == Code::kCancelled) return http::ErrorResponse(410, "expired", error.message);
  Response response = http::ErrorResponse(error);
  if (response.status == 429 || response.status == 503)
    response.headers.push_back({"Retry-After", std::to_string(service_.counts().retry_after_s)});
  return response;
}

void VerifyApi::PostVerify(const Request& request, http::Responder responder) {
  Result<Json> body = http::JsonBody(request);
  if (!body.ok()) return responder.Send(Refusal(body.error()));
  Result<bool> wait = TakeWait(body.value());
  if (!wait.ok()) return responder.Send(Refusal(wait.error()));
  Result<verify::JobSpec> spec = verify::ParseJob(body.value());
  if (!spec.ok()) return responder.Send(Refusal(spec.error()));
  Result<verify::Submitted> job = service_.Submit(std::move(spec).value());
  if (!job.ok()) return responder.Send(Refusal(job.error()));
  const int64_t now = os::SystemClock().NowNs();
  const int64_t until = wait.value() ? now + options_.wait_s_max * os::kNsPerSecond : now;
  // Shared because a std::function has to be copyable; one owner in fact.
  auto held = std::make_shared<http::Responder>(std::move(responder));
  service_.Wait(job.value().id, until, [this, held](Result<verify::JobView> view) {
    if (!view.ok()) return held->Send(Refusal(view.error()));
    const bool ended = view.value().state == verify::JobState::kDone;
    held->Send(ended ? Ended(view.value()) : NotYet(view.value()));
  });
}

Response VerifyApi::PostBatch(const Request& request) {
  const auto parse = [&]() -> Result<verify::SubmittedBatch> {
    static constexpr std::string_view kKeys[] = {"id", "jobs"};
    KUAFU_TRY(const Json body, http::JsonBody(request));
    KUAFU_TRY_STATUS(JsonOnlyKeys(body, kKeys));
    std::string id;
    if (JsonFind(body, "id") != nullptr) {
      KUAFU_TRY(id, JsonString(body, "id"));
      KUAFU_TRY_STATUS(verify::CheckJobId(id));
    }
    const Json* jobs = JsonFind(body, "jobs");
    if (jobs == nullptr || !jobs->is_array() || jobs->empty() || jobs->size() > kBatchJobsMax) {
      return Error{Code::kInvalidInput,
                   "jobs is not a list of 1 to " + std::to_string(kBatchJobsMax) + " jobs"};
    }
    std::vector<verify::JobSpec> specs;
    for (const Json& job : *jobs) {
      Result<verify::JobSpec> spec = verify::ParseJob(job);
      if (!spec.ok())
        return std::move(spec).error().WithContext("job " + std::to_string(specs.size()));
      specs.push_back(std::move(spec).value());
    }
    return service_.SubmitBatch(std::move(id), std::move(specs));
  };
  Result<verify::SubmittedBatch> batch = parse();
  if (!batch.ok()) return Refusal(batch.error());
  Response response =
      http::JsonResponse(202, {{"batch", batch.value().id}, {"jobs", batch.value().jobs}});
  response.headers.push_back({"Location", "/v1/batches/" + batch.value().id});
  return response;
}

Response VerifyApi::GetBatch(const Request& request) const {
  Result<verify::BatchView> batch = service_.FindBatch(request.target.segments[2]);
  if (!batch.ok()) return Refusal(batch.error());
  const bool brief = request.Query("verdicts", "1") == "0";
  int64_t counts[4] = {};
  Json jobs = Json::array();
  for (verify::JobView& view : batch.value().jobs) {
    ++counts[static_cast<int>(view.state)];
    if (brief) view.result = Json();
    jobs.push_back(verify::ToJson(view));
  }
  for (const std::string& id : batch.value().gone)
    jobs.push_back({{"job", id}, {"status", "expired"}});
  const bool done = counts[0] + counts[1] == 0;
  return http::JsonResponse(200, {{"batch", batch.value().id},
                                  {"status", done ? "done" : "running"},
                                  {"total", jobs.size()},
                                  {"queued", counts[0]},
                                  {"running", counts[1]},
                                  {"done", counts[2]},
                                  {"cancelled", counts[3]},
                                  {"expired", batch.value().gone.size()},
                                  {"jobs", std::move(jobs)}});
}

Response VerifyApi::GetJob(const std::string& id) const {
  Result<verify::JobView> view = service_.Find(id);
  if (!view.ok()) return Refusal(view.error());
  return http::JsonResponse(200, verify::ToJson(view.value()));
}

Response VerifyApi::DeleteJob(const std::string& id) {
  Result<verify::JobView> view = service_.Cancel(id);
  if (!view.ok()) return Refusal(view.error());
  if (view.value().state == verify::JobState::kCancelled)
    return http::JsonResponse(200, verify::ToJson(view.value()));
  return http::ErrorResponse(409, "already_exists",
                             "the job is " + std::string(verify::JobStateName(view.value().state)) +
                                 "; only a queued one can be cancelled");
}

}  // namespace kuafu::cli
