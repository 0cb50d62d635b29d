// SPDX-License-Identifier: Apache-2.0
// Requests and responses as data, and what every JSON API needs around them: targets, bodies, one
// form of error, bearer keys.
//
//   http::Response r = http::JsonResponse(200, {{"status", "ok"}});
//   http::Response e = http::ErrorResponse(404, "not_found", "there is no job 'x'");
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kuafu::http {

// Of a target that is accepted; beyond them it is refused whole.
inline constexpr size_t kTargetBytesMax = 4096;
inline constexpr size_t kSegmentsMax = 32;
inline constexpr size_t kQueryItemsMax = 64;

struct Header {
  std::string name, value;
};

// "/v1/jobs/a%20b?full=1", taken apart and decoded.
struct Target {
  std::vector<std::string> segments;                       // "v1", "jobs", "a b"
  std::vector<std::pair<std::string, std::string>> query;  // in their order
};
// Accepts origin form only ("/path?query"). invalid_input: another form, a malformed escape, a
// control character, NUL or invalid UTF-8 in a decoded part, or one of the limits above.
Result<Target> ParseTarget(std::string_view text);

struct Request {
  std::string method = "GET";  // as sent: "GET", "POST", ...
  std::string path = "/";      // the target as sent
  Target target;               // filled by the server
  std::vector<Header> headers;
  std::string body;
  std::string peer;  // address of the other side, for logs

  // The first header of this name in any case; nullptr when absent.
  const std::string* Find(std::string_view name) const;
  // Of the query; `otherwise` when absent.
  std::string_view Query(std::string_view name, std::string_view otherwise) const;
};

struct Response {
  int status = 200;
  std::vector<Header> headers;
  std::string content_type = "application/json";
  std::string body;

  const std::string* Find(std::string_view name) const;
};

Response JsonResponse(int status, const Json& body);
// {"error": {"code": ..., "message": ...}}, the only form of an error.
Response ErrorResponse(int status, std::string_view code, std::string_view message);
// The status that fits the code: 400, 404, 409, 501, 503, 504, 429, 500.
Response ErrorResponse(const Error& error);
int StatusOf(Code code);

// The body as JSON. An error is ready to be sent: what arrived is not JSON, or not of that type.
Result<Json> JsonBody(const Request& request);
// True for "application/json", with or without parameters.
bool HasJsonType(const Request& request);

// True when "Authorization: Bearer KEY" holds one of the keys. Takes the same time for every key of
// the same length, right or wrong.
bool BearerMatches(const Request& request, const std::vector<std::string>& keys);
bool SameSecret(std::string_view a, std::string_view b);
// Keys of a file: one a line, "#" starts a comment. invalid_input for none, or one that is shorter
// than 16 characters or not printable.
Result<std::vector<std::string>> ParseKeys(std::string_view text);

bool SameName(std::string_view a, std::string_view b);  // ASCII letters in any case

// "127.0.0.1:8077", "[::1]:8077", "localhost:0".
struct Endpoint {
  std::string host;  // without brackets
  uint16_t port = 0;
  bool loopback = false;  // reachable from this machine only
};
Result<Endpoint> ParseEndpoint(std::string_view text);

}  // namespace kuafu::http
