// SPDX-License-Identifier: Apache-2.0
// Sessions over Beast's parser. One timer a session ends whatever it waits for: Beast's own timed
// streams close the socket, and then nobody can be told why.
#include "http/server.h"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <mutex>
#include <unordered_map>

#include "base/check.h"
#include "os/thread_pool.h"

namespace kuafu::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using tcp = asio::ip::tcp;

namespace {

// What is read of a peer that still sends after its last answer: closing at once would destroy the
// answer on its way.
constexpr int64_t kLingerMs = 2'000;
constexpr size_t kLingerBytesMax = 64 << 20;
constexpr size_t kReadBytes = 16 << 10;
constexpr int64_t kAcceptPauseMs = 50;
constexpr size_t kHeadersMax = 128;
constexpr int kBacklog = 1024;

int64_t Int(size_t value) { return static_cast<int64_t>(value); }

}  // namespace

class Session;

// What the server, its sessions and responders share. Everything without a comment belongs to the
// thread that runs `io`.
struct Core {
  ServerOptions options;
  Handler handler;
  asio::io_context io{1};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  tcp::acceptor acceptor{io};
  asio::steady_timer accept_pause{io};
  // Owners of a session: this table, until it is closed, and its pending operations.
  std::unordered_map<Session*, std::shared_ptr<Session>> sessions;
  std::weak_ptr<Core> shared;
  int64_t active = 0;  // sessions that are served, not refused
  int64_t bodies_bytes = 0;
  bool draining = false;
  std::atomic<int64_t> connections{0}, accepted{0}, refused{0}, requests{0}, malformed{0};

  void Accept();
  void Add(tcp::socket socket);
  void StopAccepting();
  void CloseAll();
};

struct Responder::Target {
  // Owners: the server and the responders that are still out; a late one posts into a loop that has
  // ended.
  std::shared_ptr<Core> core;
  std::weak_ptr<Session> session;
  uint64_t turn = 0;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Core& core, tcp::socket socket, bool refused)
      : refused_(refused),
        core_(core),
        socket_(std::move(socket)),
        timer_(core.io),
        buffer_(static_cast<size_t>(core.options.limits.header_bytes) + 4 * kReadBytes) {
    error_code ignored;
    const tcp::endpoint peer = socket_.remote_endpoint(ignored);
    if (!ignored) peer_ = peer.address().to_string(ignored);
    socket_.set_option(tcp::no_delay(true), ignored);
  }

  void Start() {
    if (!refused_) return Next();
    Response response = ErrorResponse(503, "unavailable", "too many connections; try again");
    response.headers.push_back({"Retry-After", "1"});
    Refuse(std::move(response));
  }

  // The answer to request number `turn`; one to an earlier request is dropped.
  void Answer(uint64_t turn, Response response) {
    if (turn != turn_ || !handling_) return;
    handling_ = false;
    Write(std::move(response));
  }

  void Close() {
    if (closed_) return;
    closed_ = true;
    error_code ignored;
    timer_.cancel();
    socket_.close(ignored);
    ReleaseBody();
    --core_.connections;
    if (!refused_) --core_.active;
    core_.sessions.erase(this);  // may be the last owner
  }

  // Closes unless a request is being read, handled or answered.
  void CloseIfIdle() {
    if (idle_) Close();
  }

 private:
  // A completion handler that keeps this session alive and ends it on an exception.
  template <class F>
  auto Guarded(F body) {
    return [self = shared_from_this(), body](error_code error, size_t bytes = 0) {
      ++self->timer_turn_;
      self->timer_.cancel();
      if (self->closed_) return;
      try {
        body(error, bytes);
      } catch (const std::exception&) {  // no memory
        self->Close();
      }
    };
  }

  void Arm(int64_t ms) {
    timed_out_ = false;
    const uint64_t turn = ++timer_turn_;
    timer_.expires_after(std::chrono::milliseconds(ms));
    timer_.async_wait([weak = weak_from_this(), turn](error_code error) {
      const std::shared_ptr<Session> self = weak.lock();
      if (error || self == nullptr || self->closed_ || self->timer_turn_ != turn) return;
      self->timed_out_ = true;
      error_code ignored;
      self->socket_.cancel(ignored);
    });
  }

  void Next() {
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(core_.options.limits.header_bytes));
    parser_->body_limit(static_cast<uint64_t>(core_.options.limits.body_bytes));
    ++turn_;
    if (buffer_.size() > 0) return ReadHeader();  // pipelined
    if (core_.draining) return Close();
    idle_ = true;
    Arm(core_.options.limits.idle_ms);
    socket_.async_read_some(buffer_.prepare(kReadBytes),
                            Guarded([this](error_code error, size_t bytes) {
                              idle_ = false;
                              if (error) return Close();
                              buffer_.commit(bytes);
                              ReadHeader();
                            }));
  }

  void ReadHeader() {
    Arm(core_.options.limits.request_ms);
    beast::http::async_read_header(
        socket_, buffer_, *parser_,
        Guarded([this](error_code error, size_t) { error ? Fail(error) : OnHeader(); }));
  }

  void OnHeader() {
    ++core_.requests;
    const auto& message = parser_->get();
    request_ = Request();
    request_.method = std::string(message.method_string());
    request_.path = std::string(message.target());
    request_.peer = peer_;
    size_t hosts = 0;
    for (const auto& field : message) {
      if (request_.headers.size() == kHeadersMax)
        return Malformed(431, "exhausted", "the request has more than 128 header fields");
      request_.headers.push_back({std::string(field.name_string()), std::string(field.value())});
      hosts += field.name() == beast::http::field::host ? 1 : 0;
    }
    const bool encoded = message.find(beast::http::field::transfer_encoding) != message.end();
    if (hosts > 1 || (hosts == 0 && message.version() >= 11))
      return Malformed(400, "invalid_input", "a request needs exactly one Host");
    if (encoded && (!parser_->chunked() ||
                    !SameName(message[beast::http::field::transfer_encoding], "chunked"))) {
      return Malformed(501, "unsupported", "the only Transfer-Encoding here is chunked");
    }
    Result<kuafu::http::Target> target = ParseTarget(request_.path);
    if (!target.ok()) return Malformed(400, "invalid_input", target.error().message);
    request_.target = std::move(target).value();
    if (core_.options.admit != nullptr) {
      if (std::optional<Response> refusal = core_.options.admit(request_)) {
        return parser_->is_done() ? Write(*std::move(refusal)) : Refuse(*std::move(refusal));
      }
    }
    const int64_t bytes = parser_->chunked() ? core_.options.limits.body_bytes
                                             : Int(parser_->content_length().value_or(0));
    if (bytes > core_.options.limits.bodies_bytes - core_.bodies_bytes) {
      Response response = ErrorResponse(503, "unavailable", "too many large requests; try again");
      response.headers.push_back({"Retry-After", "1"});
      return Refuse(std::move(response));
    }
    body_bytes_ = bytes;
    core_.bodies_bytes += bytes;
    const std::string* expect = request_.Find("expect");
    if (expect == nullptr || parser_->is_done() || message.version() < 11) return ReadBody();
    if (!SameName(*expect, "100-continue"))
      return Malformed(417, "unsupported", "the only Expect here is 100-continue");
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    Arm(core_.options.limits.request_ms);
    asio::async_write(socket_, asio::buffer(kContinue),
                      Guarded([this](error_code error, size_t) { error ? Close() : ReadBody(); }));
  }

  void ReadBody() {
    Arm(core_.options.limits.request_ms);
    beast::http::async_read(socket_, buffer_, *parser_, Guarded([this](error_code error, size_t) {
                              error ? Fail(error) : OnRequest();
                            }));
  }

  void OnRequest();

  // What was sent is no request, or came too slowly or incompletely.
  void Fail(error_code error) {
    using HttpError = beast::http::error;
    if (timed_out_) {
      return Malformed(408, "deadline",
                       "the request was not complete within " +
                           std::to_string(core_.options.limits.request_ms) + " ms");
    }
    if (error == HttpError::end_of_stream) return Close();
    if (error == HttpError::header_limit || error == HttpError::buffer_overflow) {
      return Malformed(431, "exhausted",
                       "the header is longer than " +
                           std::to_string(core_.options.limits.header_bytes) + " bytes");
    }
    if (error == HttpError::body_limit) {
      return Malformed(
          413, "exhausted",
          "the body is longer than " + std::to_string(core_.options.limits.body_bytes) + " bytes");
    }
    if (error == HttpError::bad_version)
      return Malformed(505, "unsupported", "this server speaks HTTP/1.1");
    if (error == HttpError::partial_message)
      return Malformed(400, "invalid_input", "the request ended before it was complete");
    if (error.category() == make_error_code(HttpError::bad_method).category())
      return Malformed(400, "invalid_input", "this is not HTTP: " + error.message());
    Close();  // the connection itself has failed
  }

  void Malformed(int status, std::string_view code, const std::string& message) {
    ++core_.malformed;
    Refuse(ErrorResponse(status, code, message));
  }

  // An answer after which the connection ends, whatever else the peer sends.
  void Refuse(Response response) {
    last_ = true;
    Write(std::move(response));
  }

  void Write(Response response) {
    ReleaseBody();
    const bool head = request_.method == "HEAD";
    last_ = last_ || core_.draining || refused_ || !parser_.has_value() || !parser_->keep_alive();
    const unsigned version = parser_.has_value() && parser_->get().version() == 10 ? 10 : 11;
    out_.emplace();
    out_->result(static_cast<unsigned>(response.status));
    out_->version(version);
    for (const Header& header : response.headers) {
      if (header.value.find_first_of("\r\n") == std::string::npos)
        out_->insert(header.name, header.value);
    }
    out_->set(beast::http::field::content_type, response.content_type);
    out_->set(beast::http::field::cache_control, "no-store");
    out_->keep_alive(!last_);
    out_->content_length(response.body.size());
    if (!head) out_->body() = std::move(response.body);
    Arm(core_.options.limits.write_ms);
    beast::http::async_write(socket_, *out_, Guarded([this](error_code error, size_t) {
                               out_.reset();
                               if (error) return Close();
                               last_ ? Linger() : Next();
                             }));
  }

  void Linger() {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    lingered_bytes_ = 0;
    Drain();
  }

  void Drain() {
    // One deadline for all of it would need a second timer; the bytes are bounded as well.
    Arm(kLingerMs);
    buffer_.clear();
    socket_.async_read_some(buffer_.prepare(kReadBytes),
                            Guarded([this](error_code error, size_t bytes) {
                              lingered_bytes_ += bytes;
                              ++lingered_reads_;
                              if (error || lingered_bytes_ > kLingerBytesMax ||
                                  (bytes < kReadBytes && lingered_reads_ > kLingerReadsMax)) {
                                return Close();
                              }
                              Drain();
                            }));
  }

  void ReleaseBody() {
    core_.bodies_bytes -= body_bytes_;
    body_bytes_ = 0;
  }

  static constexpr int kLingerReadsMax = 16;  // of a peer that trickles

  const bool refused_;
  Core& core_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  uint64_t timer_turn_ = 0;
  bool timed_out_ = false;
  beast::flat_buffer buffer_;
  std::optional<beast::http::request_parser<beast::http::string_body>> parser_;
  std::optional<beast::http::response<beast::http::string_body>> out_;
  std::string peer_;
  Request request_;
  uint64_t turn_ = 0;
  int64_t body_bytes_ = 0;  // reserved in core_.bodies_bytes
  bool idle_ = false, handling_ = false, last_ = false, closed_ = false;
  size_t lingered_bytes_ = 0;
  int lingered_reads_ = 0;
};

struct Server::Impl {
  std::shared_ptr<Core> core;  // owners: see Responder::Target
  uint16_t port = 0;
  std::mutex mutex;  // guards stopped
  bool stopped = false;
  std::unique_ptr<os::ThreadPool> thread;
};

void Session::OnRequest() {
  request_.body = std::move(parser_->get().body());
  handling_ = true;
  // A chunked body had the limit reserved.
  core_.bodies_bytes += Int(request_.body.size()) - body_bytes_;
  body_bytes_ = Int(request_.body.size());
  auto target = std::make_unique<Responder::Target>();
  target->core = core_.shared.lock();
  target->session = weak_from_this();
  target->turn = turn_;
  std::string method = request_.method;
  Request request = std::move(request_);
  request_ = Request();
  request_.method = std::move(method);
  core_.handler(std::move(request), Responder(std::move(target)));
}

void Core::Accept() {
  acceptor.async_accept([this](error_code error, tcp::socket socket) {
    if (!acceptor.is_open()) return;
    if (!error) {
      Add(std::move(socket));
      return Accept();
    }
    // Most likely no descriptor is left: some connection has to end first.
    accept_pause.expires_after(std::chrono::milliseconds(kAcceptPauseMs));
    accept_pause.async_wait([this](error_code) {
      if (acceptor.is_open()) Accept();
    });
  });
}

void Core::Add(tcp::socket socket) {
  const bool full = active >= options.limits.connections;
  if (full) ++refused;
  ++accepted;
  // Refusals are bounded as well; beyond that there is no word of farewell.
  if (Int(sessions.size()) >= 2 * options.limits.connections) return;
  try {
    auto session = std::make_shared<Session>(*this, std::move(socket), full);
    sessions.emplace(session.get(), session);
    ++connections;
    if (!full) ++active;
    session->Start();
  } catch (const std::exception&) {  // no memory: the socket is closed, the next may be luckier
    ++refused;
  }
}

void Core::StopAccepting() {
  draining = true;
  error_code ignored;
  acceptor.close(ignored);
  accept_pause.cancel();
  const auto open = sessions;  // sessions leave the table when they close
  for (const auto& [session, owner] : open) session->CloseIfIdle();
}

void Core::CloseAll() {
  StopAccepting();
  const auto open = sessions;
  for (const auto& [session, owner] : open) session->Close();
}

Responder::Responder(std::unique_ptr<Target> target) : target_(std::move(target)) {}
Responder::Responder(Responder&&) noexcept = default;

Responder& Responder::operator=(Responder&& other) noexcept {
  if (this != &other) {
    Responder dropped(std::move(target_));
    target_ = std::move(other.target_);
  }
  return *this;
}

Responder::~Responder() {
  if (target_ != nullptr) Send(ErrorResponse(500, "internal", "the request was not answered"));
}

void Responder::Send(Response response) {
  if (target_ == nullptr) return;
  const std::unique_ptr<Target> target = std::move(target_);
  // Holds no owner of the loop: the loop would own itself.
  asio::post(target->core->io, [session = target->session, turn = target->turn,
                                response = std::move(response)]() mutable {
    if (const std::shared_ptr<Session> open = session.lock())
      open->Answer(turn, std::move(response));
  });
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() { Stop(); }

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options, Handler handler) {
  KUAFU_CHECK(handler != nullptr, "a server needs a handler");
  const std::string where = options.host + ":" + std::to_string(options.port);
  auto impl = std::make_unique<Impl>();
  impl->core = std::make_shared<Core>();
  Core& core = *impl->core;
  core.shared = impl->core;
  error_code error;
  const asio::ip::address address = asio::ip::make_address(options.host, error);
  if (error) {
    return Error{Code::kInvalidInput, "listening on " + where + ": '" + options.host +
                                          "' is not an address of this machine"};
  }
  const tcp::endpoint endpoint(address, options.port);
  core.acceptor.open(endpoint.protocol(), error);
  if (!error) core.acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) core.acceptor.bind(endpoint, error);
  if (!error) core.acceptor.listen(kBacklog, error);
  if (!error) impl->port = core.acceptor.local_endpoint(error).port();
  if (error) return Error{Code::kUnavailable, "listening on " + where + ": " + error.message()};
  core.options = std::move(options);
  core.handler = std::move(handler);
  core.work.emplace(core.io.get_executor());
  core.Accept();
  impl->thread = std::make_unique<os::ThreadPool>(os::ThreadPoolOptions{.threads = 1});
  impl->thread->Submit([&core] {
    for (bool done = false; !done;) {
      try {
        core.io.run();
        done = true;
      } catch (const std::exception&) {  // no memory for a step outside of a session
      }
    }
  });
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

uint16_t Server::port() const { return impl_->port; }

ServerCounters Server::counters() const {
  const Core& core = *impl_->core;
  return {.connections = core.connections,
          .accepted = core.accepted,
          .refused = core.refused,
          .requests = core.requests,
          .malformed = core.malformed};
}

void Server::StopAccepting() {
  asio::post(impl_->core->io, [core = impl_->core.get()] { core->StopAccepting(); });
}

bool Server::Quiet() const { return impl_->core->connections == 0; }

void Server::Stop() {
  std::lock_guard lock(impl_->mutex);
  if (impl_->stopped) return;
  impl_->stopped = true;
  asio::post(impl_->core->io, [core = impl_->core.get()] {
    core->CloseAll();
    core->work.reset();
  });
  impl_->thread.reset();  // joins
  impl_->core->handler = nullptr;
  impl_->core->options.admit = nullptr;
}

}  // namespace kuafu::http
