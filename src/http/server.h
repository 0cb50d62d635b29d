// SPDX-License-Identifier: Apache-2.0
// An HTTP/1.1 server for JSON APIs: keep-alive, pipelined requests answered in their order, chunked
// bodies, Expect: 100-continue. Everything that a peer can make large or slow has a limit.
//
//   KUAFU_TRY(auto server, http::Server::Start(options, [](http::Request request,
//                                                          http::Responder responder) {
//     responder.Send(http::JsonResponse(200, {{"path", request.path}}));
//   }));
//
// One thread does all input and output; handlers run on it and must not block. What takes longer
// keeps the Responder and answers later, from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/limits.h"
#include "base/result.h"
#include "http/message.h"

namespace kuafu::http {

// What a peer gets when it goes beyond one of them is in brackets; the connection is then closed.
struct ServerLimits {
  int64_t connections = 512;         // [503]
  int64_t header_bytes = 16 * kKiB;  // [431]
  int64_t body_bytes = 16 * kMiB;    // [413]
  // Of all requests that are held at a time, so that many large ones cannot fill the memory. [503]
  int64_t bodies_bytes = 256 * kMiB;
  int64_t request_ms = 30'000;  // from the first byte of a request to its last [408]
  int64_t idle_ms = 75'000;     // without a byte between two requests [closed]
  int64_t write_ms = 30'000;    // for a response to be taken [closed]
};

struct ServerOptions {
  std::string host = "127.0.0.1";  // an address
  uint16_t port = 0;               // 0 = any that is free
  ServerLimits limits;
  // Asked when the header of a request has arrived and before its body is read; a response ends the
  // matter. For keys and for paths that do not exist. On the thread of the server.
  std::function<std::optional<Response>(const Request&)> admit;
};

struct ServerCounters {
  int64_t connections = 0;  // open now
  int64_t accepted = 0, refused = 0;
  int64_t requests = 0;   // whose header was complete
  int64_t malformed = 0;  // ended in 4xx before a handler saw them, or timed out
};

// The right to answer one request, once. Movable. When it is destroyed without an answer, the peer
// gets 500. Safe to use from any thread; harmless when the peer or the server is gone.
class Responder {
 public:
  Responder(Responder&&) noexcept;
  Responder& operator=(Responder&&) noexcept;
  ~Responder();
  void Send(Response response);

  struct Target;  // private to server.cpp

 private:
  friend class Server;
  friend class Session;
  explicit Responder(std::unique_ptr<Target> target);
  std::unique_ptr<Target> target_;
};

using Handler = std::function<void(Request, Responder)>;

class Server {
 public:
  // unavailable when the address is taken.
  static Result<std::unique_ptr<Server>> Start(ServerOptions options, Handler handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const;
  ServerCounters counters() const;
  // No new connections; open ones end after their next response, idle ones at once.
  void StopAccepting();
  // True when no connection is left. For a graceful end, after StopAccepting.
  bool Quiet() const;
  // Closes everything; handlers are no longer called after it. The destructor does the same.
  void Stop();

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kuafu::http
