// SPDX-License-Identifier: Apache-2.0
// Goal: no peer, however hostile, costs more than its own connection, and whoever keeps to HTTP is
// answered exactly once. Method: a real server on a free port, our client for what is right, raw
// sockets for what is not; every test ends with a request that must still be answered.
#include "http/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

#include "base/text.h"
#include "http/client.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/thread_pool.h"

namespace kuafu::http {
namespace {

// A socket without any idea of HTTP.
class Raw {
 public:
  explicit Raw(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    timeval limit = {.tv_sec = 20, .tv_usec = 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    connected = connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  bool Send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // Until the server closes, or `enough` has been seen.
  std::string Receive(std::string_view enough = "") {
    char block[4096];
    while (enough.empty() || !Contains(all_, enough)) {
      const ssize_t got = recv(fd_.get(), block, sizeof(block), 0);
      if (got <= 0) break;
      all_.append(block, static_cast<size_t>(got));
    }
    return all_;
  }
  void CloseWriting() { shutdown(fd_.get(), SHUT_WR); }
  bool connected = false;

 private:
  os::UniqueFd fd_;
  std::string all_;
};

class ServerTest : public testing::Test {
 protected:
  void Start(ServerOptions options = {}) {
    auto started = Server::Start(std::move(options), [this](Request request, Responder responder) {
      ++handled_;
      if (request.path == "/drop") return;
      if (request.path == "/later") {
        later_.push_back(std::move(responder));
        return;
      }
      responder.Send(JsonResponse(
          200,
          {{"method", request.method}, {"path", request.path}, {"bytes", request.body.size()}}));
    });
    ASSERT_TRUE(started.ok()) << started.error().ToString();
    server_ = std::move(started).value();
  }
  Client NewClient() { return Client({.port = server_->port(), .answer_ms = 20'000}); }
  // The first line of what comes back for these bytes.
  std::string StatusFor(std::string_view bytes, bool close_writing = false) {
    Raw raw(server_->port());
    raw.Send(bytes);
    if (close_writing) raw.CloseWriting();
    const std::string answer = raw.Receive();
    return std::string(answer.substr(0, std::min<size_t>(answer.find('\r'), 40)));
  }
  void TearDown() override {
    if (server_ == nullptr) return;
    Request health;
    health.path = "/health";
    Result<Response> response = NewClient().Send(health);
    EXPECT_TRUE(response.ok() && response.value().status == 200) << "the server has suffered";
    later_.clear();
    server_->Stop();
    EXPECT_EQ(server_->counters().connections, 0);
  }

  std::unique_ptr<Server> server_;
  std::vector<Responder> later_;  // touched by the server's thread, and by the test in between
  std::atomic<int> handled_{0};
};

Request Post(std::string path, std::string body) {
  Request request;
  request.method = "POST";
  request.path = std::move(path);
  request.body = std::move(body);
  return request;
}

constexpr std::string_view kGet = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";

TEST_F(ServerTest, OneConnectionServesManyRequests) {
  Start();
  Client client = NewClient();
  for (int i = 0; i < 50; ++i) {
    Result<Response> response = client.Send(Post("/n", std::string(static_cast<size_t>(i), 'x')));
    ASSERT_TRUE(response.ok()) << response.error().ToString();
    EXPECT_EQ(ParseJson(response.value().body).value()["bytes"], i);
  }
  EXPECT_EQ(server_->counters().accepted, 1);
}

TEST_F(ServerTest, PipelinedRequestsAreAnsweredInTheirOrder) {
  Start();
  Raw raw(server_->port());
  std::string all;
  for (const char* path : {"/1", "/2", "/3"})
    all += "POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab";
  all += "GET /4 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  ASSERT_TRUE(raw.Send(all));
  const std::string answer = raw.Receive();
  size_t at = 0;
  for (const char* path : {"\"/1\"", "\"/2\"", "\"/3\"", "\"/4\""}) {
    at = answer.find(path, at);
    ASSERT_NE(at, std::string::npos) << answer;
  }
  EXPECT_EQ(handled_, 4);
}

TEST_F(ServerTest, ARequestInSingleBytesIsOneRequest) {
  Start();
  Raw raw(server_->port());
  const std::string text =
      "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
      "Connection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  for (const char c : text) ASSERT_TRUE(raw.Send(std::string_view(&c, 1)));
  EXPECT_TRUE(Contains(raw.Receive(), "\"bytes\":3"));
}

TEST_F(ServerTest, WhatIsNoRequestIsToldSo) {
  Start({.limits = {.header_bytes = 2048, .body_bytes = 1000}});
  const std::string host = "Host: a\r\n";
  const struct {
    std::string sent;
    const char* status;
  } cases[] = {
      {"\r\n\r\n\r\nnonsense\r\n\r\n", "HTTP/1.1 400"},
      {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11), "HTTP/1.1 400"},  // TLS
      {std::string("GET /\0 HTTP/1.1\r\n", 17) + host + "\r\n", "HTTP/1.1 400"},
      {"GET /x HTTP/1.1\r\n\r\n", "HTTP/1.1 400"},
      {"GET /x HTTP/1.1\r\n" + host + host + "\r\n", "HTTP/1.1 400"},
      {"GET http://a/x HTTP/1.1\r\n" + host + "\r\n", "HTTP/1.1 400"},
      {"GET /%zz HTTP/1.1\r\n" + host + "\r\n", "HTTP/1.1 400"},
      {"GET /x HTTP/3.0\r\n" + host + "\r\n", "HTTP/1.1 505"},
      {"POST /x HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n", "HTTP/1.1 400"},
      {"POST /x HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
       "HTTP/1.1 400"},
      // Two lengths for one body are how requests are smuggled past a proxy.
      {"POST /x HTTP/1.1\r\n" + host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
       "HTTP/1.1 400"},
      {"POST /x HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 501"},
      {"POST /x HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 400"},
      {"POST /x HTTP/1.1\r\n" + host + "Expect: magic\r\nContent-Length: 3\r\n\r\nabc",
       "HTTP/1.1 417"},
      {"GET /" + std::string(3000, 'a') + " HTTP/1.1\r\n" + host + "\r\n", "HTTP/1.1 431"},
      {"GET /x HTTP/1.1\r\n" + host + "A: " + std::string(3000, 'a') + "\r\n\r\n", "HTTP/1.1 431"},
      {"POST /x HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999\r\n\r\n",
       "HTTP/1.1 400"},
      {"POST /x HTTP/1.1\r\n" + host + "Content-Length: 1001\r\n\r\n", "HTTP/1.1 413"},
      {"POST /x HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n500\r\n" +
           std::string(0x500, 'a') + "\r\n0\r\n\r\n",
       "HTTP/1.1 413"},
  };
  for (const auto& c : cases)
    EXPECT_TRUE(StartsWith(StatusFor(c.sent), c.status)) << c.sent << " -> " << StatusFor(c.sent);
  EXPECT_EQ(handled_, 0);
}

TEST_F(ServerTest, AHalfSentRequestIsNeverHandled) {
  Start({.limits = {.request_ms = 300}});
  const std::string whole = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcd";
  EXPECT_TRUE(StartsWith(StatusFor(whole, true), "HTTP/1.1 400"));
  for (size_t bytes = 1; bytes <= whole.size(); bytes += 7)
    EXPECT_TRUE(StartsWith(StatusFor(whole.substr(0, bytes)), "HTTP/1.1 408")) << bytes;
  EXPECT_EQ(handled_, 0);
}

TEST_F(ServerTest, AByteNowAndThenDoesNotHoldAConnection) {
  Start({.limits = {.request_ms = 400}});
  Raw raw(server_->port());
  const int64_t begin = os::SystemClock().NowNs();
  for (int i = 0; i < 200 && raw.Send(i == 0 ? "GET /x HTTP/1.1\r\n" : "A: b\r\n"); ++i)
    os::SystemClock().SleepNs(50 * os::kNsPerMs);
  EXPECT_TRUE(StartsWith(raw.Receive(), "HTTP/1.1 408"));
  EXPECT_LT(os::SystemClock().NowNs() - begin, 9 * os::kNsPerSecond);
}

TEST_F(ServerTest, AnIdleConnectionIsClosed) {
  Start({.limits = {.idle_ms = 200}});
  Raw raw(server_->port());
  EXPECT_EQ(raw.Receive(), "");
  Client client = NewClient();
  ASSERT_TRUE(client.Send(Post("/a", "")).ok());
  os::SystemClock().SleepNs(os::kNsPerSecond);
  EXPECT_TRUE(client.Send(Post("/b", "")).ok()) << "a client opens a new one";
}

TEST_F(ServerTest, OneTooManyIsRefusedAndAPlaceIsFreeAgain) {
  Start({.limits = {.connections = 3, .idle_ms = 60'000}});
  {
    std::vector<Raw> open;
    for (int i = 0; i < 3; ++i) {
      open.emplace_back(server_->port());
      ASSERT_TRUE(open.back().Send(kGet));
      open.back().Receive("}");
    }
    EXPECT_TRUE(StartsWith(StatusFor(kGet), "HTTP/1.1 503"));
    EXPECT_TRUE(Contains(Raw(server_->port()).Receive(), "Retry-After: 1"));
  }
  for (int i = 0; i < 100 && server_->counters().connections > 0; ++i)
    os::SystemClock().SleepNs(50 * os::kNsPerMs);
  EXPECT_GE(server_->counters().refused, 2);
}

TEST_F(ServerTest, LargeBodiesTogetherAreBounded) {
  Start({.limits = {.body_bytes = 1000, .bodies_bytes = 1500}});
  const std::string header = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n";
  Raw first(server_->port());
  first.Send(header);
  os::SystemClock().SleepNs(200 * os::kNsPerMs);
  EXPECT_TRUE(StartsWith(StatusFor(header), "HTTP/1.1 503"));
  first.Send(std::string(1000, 'x'));
  EXPECT_TRUE(Contains(first.Receive("}"), "\"bytes\":1000"));
  EXPECT_TRUE(NewClient().Send(Post("/x", std::string(1000, 'x'))).ok());
}

TEST_F(ServerTest, WhoIsNotAdmittedCannotSendABody) {
  Start({.admit = [](const Request& request) -> std::optional<Response> {
    if (request.path == "/health") return std::nullopt;
    return ErrorResponse(401, "unauthorized", "no key");
  }});
  Raw raw(server_->port());
  raw.Send(
      "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\nExpect: 100-continue\r\n\r\n");
  const std::string answer = raw.Receive();
  EXPECT_TRUE(StartsWith(answer, "HTTP/1.1 401")) << answer;
  // A client that sends all the same can still read why.
  Result<Response> response = NewClient().Send(Post("/x", std::string(8 << 20, 'x')));
  ASSERT_TRUE(response.ok()) << response.error().ToString();
  EXPECT_EQ(response.value().status, 401);
  EXPECT_EQ(handled_, 0);
}

TEST_F(ServerTest, ContinueIsSaidBeforeTheBody) {
  Start();
  Raw raw(server_->port());
  raw.Send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(raw.Receive("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  raw.Send("abc");
  EXPECT_TRUE(Contains(raw.Receive("}"), "\"bytes\":3"));
}

TEST_F(ServerTest, HeadHasTheLengthAndNoBody) {
  Start();
  EXPECT_FALSE(Contains(StatusFor("HEAD /x HTTP/1.0\r\n\r\n"), "400"));
  Request head;
  head.method = "HEAD";
  Client client = NewClient();
  Result<Response> response = client.Send(head);
  ASSERT_TRUE(response.ok()) << response.error().ToString();
  EXPECT_EQ(response.value().body, "");
  EXPECT_NE(*response.value().Find("content-length"), "0");
  EXPECT_TRUE(client.Send(head).ok());
}

TEST_F(ServerTest, AHandlerThatForgetsToAnswerIsA500) {
  Start();
  Result<Response> response = NewClient().Send(Post("/drop", ""));
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response.value().status, 500);
}

TEST_F(ServerTest, AnAnswerMayComeLateFromAnotherThreadOrToNobody) {
  Start();
  os::ThreadPool pool({.threads = 4});
  std::atomic<int> answered{0};
  for (int i = 0; i < 4; ++i) {
    pool.Submit([this, &answered] {
      Result<Response> response = NewClient().Send(Post("/later", ""));
      if (response.ok() && response.value().status == 202) ++answered;
    });
  }
  {
    Raw gone(server_->port());
    gone.Send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  while (handled_ < 5) os::SystemClock().SleepNs(5 * os::kNsPerMs);
  os::SystemClock().SleepNs(50 * os::kNsPerMs);
  for (Responder& responder : later_) {
    responder.Send(JsonResponse(202, {{"late", true}}));
    responder.Send(JsonResponse(500, {{"twice", true}}));  // no longer has the right
  }
  pool.WaitIdle();
  EXPECT_EQ(answered, 4);
}

TEST_F(ServerTest, StopWithRequestsInFlightLeavesNothingBehind) {
  Start();
  Raw a(server_->port()), b(server_->port());
  a.Send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
  b.Send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  while (handled_ < 1) os::SystemClock().SleepNs(5 * os::kNsPerMs);
  server_->Stop();
  EXPECT_EQ(a.Receive(), "");
  EXPECT_EQ(server_->counters().connections, 0);
  for (Responder& responder : later_) responder.Send(JsonResponse(200, Json::object()));
  later_.clear();
  server_.reset();
}

TEST_F(ServerTest, DrainingEndsConnectionsAfterTheirAnswer) {
  Start();
  Raw idle(server_->port()), busy(server_->port());
  busy.Send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
  while (handled_ < 1) os::SystemClock().SleepNs(5 * os::kNsPerMs);
  server_->StopAccepting();
  EXPECT_EQ(idle.Receive(), "");
  EXPECT_FALSE(Raw(server_->port()).connected);
  later_.front().Send(JsonResponse(200, {{"ok", true}}));
  const std::string answer = busy.Receive();
  EXPECT_TRUE(StartsWith(answer, "HTTP/1.1 200")) << answer;
  EXPECT_TRUE(Contains(answer, "Connection: close")) << answer;
  for (int i = 0; i < 200 && !server_->Quiet(); ++i) os::SystemClock().SleepNs(20 * os::kNsPerMs);
  EXPECT_TRUE(server_->Quiet());
  server_.reset();
}

TEST_F(ServerTest, ManyThreadsEachGetTheirOwnAnswers) {
  Start();
  os::ThreadPool pool({.threads = 8});
  std::atomic<int> right{0};
  for (int t = 0; t < 8; ++t) {
    pool.Submit([this, &right, t] {
      Client client = NewClient();
      for (int i = 0; i < 40; ++i) {
        const std::string path = "/" + std::to_string(t) + "/" + std::to_string(i);
        Result<Response> response = client.Send(Post(path, "x"));
        if (response.ok() && ParseJson(response.value().body).value()["path"] == path) ++right;
      }
    });
  }
  pool.WaitIdle();
  EXPECT_EQ(right, 320);
}

TEST(Client, SaysWhatWentWrong) {
  EXPECT_EQ(Client({.host = "nowhere"}).Send({}).error().code, Code::kInvalidInput);
  EXPECT_EQ(Client({.port = 1}).Send({}).error().code, Code::kUnavailable);
  auto server = Server::Start({}, [](Request, Responder responder) {
    os::SystemClock().SleepNs(300 * os::kNsPerMs);
    responder.Send(JsonResponse(200, {{"text", std::string(5000, 'x')}}));
  });
  ASSERT_TRUE(server.ok());
  const uint16_t port = server.value()->port();
  EXPECT_EQ(Client({.port = port, .answer_ms = 50}).Send({}).error().code, Code::kDeadline);
  EXPECT_EQ(Client({.port = port, .body_bytes = 100}).Send({}).error().code, Code::kExhausted);
  EXPECT_EQ(Server::Start({.port = port}, [](Request, Responder) {}).error().code,
            Code::kUnavailable);
  EXPECT_EQ(Server::Start({.host = "a.b"}, [](Request, Responder) {}).error().code,
            Code::kInvalidInput);
}

}  // namespace
}  // namespace kuafu::http
