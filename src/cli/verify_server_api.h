// SPDX-License-Identifier: Apache-2.0
// The HTTP side of `kuafu verify-server`: paths, keys, JSON. docs/verify-server.md is its manual.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "http/message.h"
#include "http/server.h"
#include "verify/service.h"

namespace kuafu::cli {

struct VerifyApiOptions {
  std::vector<std::string> keys;  // empty: everybody who reaches the address may ask
  int64_t wait_s_max = 600;       // a request with "wait" is answered with 202 after it
  // Appended to /metrics.
  std::function<std::string()> more_metrics;
};

class VerifyApi {
 public:
  // `service` is borrowed and must outlive this.
  VerifyApi(verify::Service& service, VerifyApiOptions options)
      : service_(service), options_(std::move(options)) {}

  // What is wrong with a request before its body is read.
  std::optional<http::Response> Admit(const http::Request& request) const;
  // Answers now, or when the job has ended.
  void Handle(http::Request request, http::Responder responder);

 private:
  http::Response Health() const;
  http::Response Refusal(const Error& error) const;
  void PostVerify(const http::Request& request, http::Responder responder);
  http::Response PostBatch(const http::Request& request);
  http::Response GetBatch(const http::Request& request) const;
  http::Response GetJob(const std::string& id) const;
  http::Response DeleteJob(const std::string& id);

  verify::Service& service_;
  VerifyApiOptions options_;
};

}  // namespace kuafu::cli
