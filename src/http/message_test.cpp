// SPDX-License-Identifier: Apache-2.0
// Goal: what we parse ourselves of HTTP is exact about what it accepts. Method: accepted and
// refused examples of targets, addresses, key files and authorisation.
#include "http/message.h"

#include <gtest/gtest.h>

namespace kuafu::http {
namespace {

TEST(Target, IsTakenApartAndDecoded) {
  const Target target = ParseTarget("/v1/jobs/a%20b%2Fc?full=1&empty&x=a+%2B%3d").value();
  EXPECT_EQ(target.segments, (std::vector<std::string>{"v1", "jobs", "a b/c"}));
  ASSERT_EQ(target.query.size(), 3u);
  EXPECT_EQ(target.query[0], (std::pair<std::string, std::string>{"full", "1"}));
  EXPECT_EQ(target.query[1], (std::pair<std::string, std::string>{"empty", ""}));
  EXPECT_EQ(target.query[2], (std::pair<std::string, std::string>{"x", "a +="}));
  EXPECT_EQ(ParseTarget("/").value().segments, (std::vector<std::string>{""}));
  EXPECT_EQ(ParseTarget("/a/").value().segments, (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(ParseTarget("/a?").value().query.size(), 0u);
  EXPECT_EQ(ParseTarget("/?a=b").value().query.size(), 1u);
}

TEST(Target, RefusesWhatCouldMeanTwoThings) {
  for (const char* text :
       {"", "*", "health", "http://host/health", "//host/\x01", "/a b", "/a#b", "/%", "/%2", "/%zz",
        "/a%00b", "/%0d%0aX:y", "/%ff", "/a?b=%", "/a?%c3=1", "/\xc3\xa9"}) {
    EXPECT_FALSE(ParseTarget(text).ok()) << text;
  }
  EXPECT_FALSE(ParseTarget("/" + std::string(kTargetBytesMax, 'a')).ok());
  std::string deep, wide = "/?";
  for (size_t i = 0; i <= kSegmentsMax; ++i) deep += "/a";
  for (size_t i = 0; i <= kQueryItemsMax; ++i) wide += "a=b&";
  EXPECT_FALSE(ParseTarget(deep).ok());
  EXPECT_FALSE(ParseTarget(wide).ok());
}

TEST(Bearer, MatchesAWholeKeyOnly) {
  const std::vector<std::string> keys = {"0123456789abcdef", "another-key-of-mine"};
  const auto matches = [&](const char* header) {
    Request request;
    request.headers = {{"AUTHORIZATION", header}};
    return BearerMatches(request, keys);
  };
  EXPECT_TRUE(matches("Bearer 0123456789abcdef"));
  EXPECT_TRUE(matches("bearer  another-key-of-mine "));
  EXPECT_FALSE(matches("Bearer 0123456789abcde"));
  EXPECT_FALSE(matches("Bearer 0123456789abcdef0123456789abcdef"));  // the key twice
  EXPECT_FALSE(matches("Bearer "));
  EXPECT_FALSE(matches("Bearer"));
  EXPECT_FALSE(matches("Basic 0123456789abcdef"));
  EXPECT_FALSE(matches("0123456789abcdef"));
  EXPECT_FALSE(BearerMatches({}, keys));
  EXPECT_FALSE(SameSecret("", "a"));
  EXPECT_FALSE(SameSecret("a", ""));
}

TEST(Keys, ShortOrUnprintableOnesAreRefused) {
  EXPECT_EQ(ParseKeys("# of the trainer\n\n  0123456789abcdef \nabcdefghijklmnop\n").value(),
            (std::vector<std::string>{"0123456789abcdef", "abcdefghijklmnop"}));
  EXPECT_FALSE(ParseKeys("").ok());
  EXPECT_FALSE(ParseKeys("# nothing\n").ok());
  EXPECT_FALSE(ParseKeys("short\n").ok());
  EXPECT_FALSE(ParseKeys("0123456789 abcdef\n").ok());
}

TEST(Endpoint, NeedsAnAddressAndAPort) {
  const Endpoint v4 = ParseEndpoint("127.0.0.1:8077").value();
  EXPECT_EQ(v4.host, "127.0.0.1");
  EXPECT_EQ(v4.port, 8077);
  EXPECT_TRUE(v4.loopback);
  EXPECT_EQ(ParseEndpoint("[::1]:0").value().host, "::1");
  EXPECT_TRUE(ParseEndpoint("localhost:1").value().loopback);
  EXPECT_FALSE(ParseEndpoint("0.0.0.0:8077").value().loopback);
  EXPECT_FALSE(ParseEndpoint("[::]:8077").value().loopback);
  for (const char* text :
       {"", ":80", "127.0.0.1", "127.0.0.1:", "::1:80", "[]:80", "[::1:80", "a:65536", "a:-1"}) {
    EXPECT_FALSE(ParseEndpoint(text).ok()) << text;
  }
}

TEST(Response, ErrorsHaveOneForm) {
  const Response response = ErrorResponse(Error{Code::kExhausted, "the queue is full \xff"});
  EXPECT_EQ(response.status, 429);
  const Json body = ParseJson(response.body).value();
  EXPECT_EQ(body["error"]["code"], "exhausted");
  EXPECT_EQ(StatusOf(Code::kInvalidInput), 400);
  EXPECT_EQ(StatusOf(Code::kInternal), 500);
  Request request;
  request.headers = {{"Content-Type", "Application/JSON; charset=utf-8"}};
  EXPECT_TRUE(HasJsonType(request));
  request.headers = {{"Content-Type", "text/plain"}};
  EXPECT_FALSE(HasJsonType(request));
  request.body = "{\"a\": 1,}";
  EXPECT_EQ(JsonBody(request).error().code, Code::kInvalidInput);
}

}  // namespace
}  // namespace kuafu::http
