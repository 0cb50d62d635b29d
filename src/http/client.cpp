// SPDX-License-Identifier: Apache-2.0
// Synchronous from outside; asynchronous inside, because only that can be given a time limit.
#include "http/client.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>

namespace kuafu::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using tcp = asio::ip::tcp;

struct Client::Impl {
  ClientOptions options;
  asio::io_context io{1};
  tcp::socket socket{io};
  beast::flat_buffer buffer;

  std::string Where() const { return options.host + ":" + std::to_string(options.port); }

  void Close() {
    error_code ignored;
    socket.close(ignored);
    buffer.clear();
  }

  // Runs what `start` begins; it calls the function it is given with the outcome.
  template <class F>
  std::optional<error_code> Run(int64_t ms, F start) {
    std::optional<error_code> outcome;
    io.restart();
    start([&outcome](error_code error, size_t = 0) { outcome = error; });
    io.run_for(std::chrono::milliseconds(ms));
    if (outcome.has_value()) return outcome;
    Close();
    io.run();
    return std::nullopt;
  }

  Status Connect() {
    error_code error;
    const asio::ip::address address = asio::ip::make_address(options.host, error);
    if (error) return Error{Code::kInvalidInput, "connecting to " + Where() + ": not an address"};
    Close();
    const std::optional<error_code> outcome = Run(options.connect_ms, [&](auto done) {
      socket.async_connect(tcp::endpoint(address, options.port), done);
    });
    if (outcome.has_value() && !*outcome) {
      socket.set_option(tcp::no_delay(true), error);
      return OkStatus();
    }
    Close();
    return Error{
        outcome.has_value() ? Code::kUnavailable : Code::kDeadline,
        "connecting to " + Where() + ": " +
            (outcome.has_value() ? outcome->message()
                                 : "not within " + std::to_string(options.connect_ms) + " ms")};
  }

  // `stale`: the connection had ended before anything of an answer came.
  Result<Response> Exchange(const Request& request, bool& stale);
};

Result<Response> Client::Impl::Exchange(const Request& request, bool& stale) {
  beast::http::request<beast::http::string_body> message;
  message.version(11);
  message.method_string(request.method);
  message.target(request.path);
  message.set(beast::http::field::host, Where());
  for (const Header& header : request.headers) message.set(header.name, header.value);
  message.body() = request.body;
  message.prepare_payload();
  beast::http::response_parser<beast::http::string_body> parser;
  parser.body_limit(static_cast<uint64_t>(options.body_bytes));
  if (request.method == "HEAD") parser.skip(true);
  // A server that refuses a long body may answer and close before it has read all of it: what could
  // not be written matters only when there is no answer.
  std::optional<error_code> outcome = Run(options.answer_ms, [&](auto done) {
    beast::http::async_write(socket, message, [&, done](error_code, size_t) mutable {
      beast::http::async_read(socket, buffer, parser, done);
    });
  });
  const std::string where = request.method + " " + request.path + " at " + Where();
  if (!outcome.has_value()) {
    return Error{Code::kDeadline,
                 where + ": no answer within " + std::to_string(options.answer_ms) + " ms"};
  }
  if (*outcome) {
    Close();
    stale = !parser.got_some();
    if (*outcome == beast::http::error::body_limit) {
      return Error{Code::kExhausted, where + ": the answer is longer than " +
                                         std::to_string(options.body_bytes) + " bytes"};
    }
    const bool malformed =
        outcome->category() == make_error_code(beast::http::error::bad_method).category() &&
        *outcome != beast::http::error::end_of_stream;
    return Error{malformed ? Code::kCorrupt : Code::kUnavailable,
                 where + ": " + outcome->message()};
  }
  Response response;
  response.status = static_cast<int>(parser.get().result_int());
  for (const auto& field : parser.get())
    response.headers.push_back({std::string(field.name_string()), std::string(field.value())});
  if (const std::string* type = response.Find("content-type")) response.content_type = *type;
  response.body = std::move(parser.get().body());
  if (!parser.keep_alive()) Close();
  return response;
}

Client::Client(ClientOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Result<Response> Client::Send(const Request& request) {
  try {
    for (;;) {
      const bool kept = impl_->socket.is_open();
      if (!kept) KUAFU_TRY_STATUS(impl_->Connect());
      bool stale = false;
      Result<Response> response = impl_->Exchange(request, stale);
      if (response.ok() || !kept || !stale) return response;
    }
  } catch (const std::exception& e) {
    impl_->Close();
    return Error{Code::kInvalidInput, "sending to " + impl_->Where() + ": " + e.what()};
  }
}

}  // namespace kuafu::http
