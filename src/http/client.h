// SPDX-License-Identifier: Apache-2.0
// A small HTTP/1.1 client: one connection, kept alive, one request at a time.
//
//   http::Client client({.host = "127.0.0.1", .port = 8077});
//   KUAFU_TRY(http::Response response, client.Send({.method = "GET", .path = "/health"}));
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/limits.h"
#include "base/result.h"
#include "http/message.h"

namespace kuafu::http {

struct ClientOptions {
  std::string host = "127.0.0.1";  // an address
  uint16_t port = 80;
  int64_t connect_ms = 5'000;
  int64_t answer_ms = 60'000;  // from the first byte sent to the last one received
  int64_t body_bytes = 64 * kMiB;
};

// One thread at a time. Connects when it has to.
class Client {
 public:
  explicit Client(ClientOptions options);
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  // Any status is a Response. unavailable: no connection, or it ended early; deadline; exhausted:
  // the answer is longer than allowed; corrupt: it is not HTTP. A connection that was kept and has
  // since been closed is opened again, once, and only when nothing of the answer has arrived; so a
  // request may reach the server twice.
  Result<Response> Send(const Request& request);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kuafu::http
