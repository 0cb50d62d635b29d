// SPDX-License-Identifier: Apache-2.0
// The parts of HTTP that are text; no sockets and no Beast.
#include "http/message.h"

#include <algorithm>

#include "base/text.h"

namespace kuafu::http {
namespace {

constexpr size_t kKeyCharsMin = 16, kKeyCharsMax = 512, kKeysMax = 1000;
constexpr std::string_view kJsonType = "application/json";

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsPrintable(char c) { return c > 0x20 && c < 0x7f; }

Error Malformed(std::string_view what, std::string_view text) {
  return Error{Code::kInvalidInput,
               "reading the target '" + EscapeForMessage(text, 80) + "': " + std::string(what)};
}

// `plus` is a space in queries, as browsers write it.
Result<std::string> Decode(std::string_view part, std::string_view whole, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(part.size());
  for (size_t i = 0; i < part.size(); ++i) {
    char c = part[i];
    if (c == '%') {
      const int high = i + 2 < part.size() ? HexDigit(part[i + 1]) : -1;
      const int low = i + 2 < part.size() ? HexDigit(part[i + 2]) : -1;
      if (high < 0 || low < 0) return Malformed("a % without two hexadecimal digits", whole);
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return Malformed("it has a control character", whole);
    decoded += c;
  }
  if (!IsUtf8(decoded)) return Malformed("it is not UTF-8", whole);
  return decoded;
}

template <class Headers>
const std::string* FindIn(const Headers& headers, std::string_view name) {
  for (const Header& header : headers) {
    if (SameName(header.name, name)) return &header.value;
  }
  return nullptr;
}

}  // namespace

bool SameName(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return Lower(x) == Lower(y); });
}

Result<Target> ParseTarget(std::string_view text) {
  if (text.size() > kTargetBytesMax) {
    return Error{Code::kInvalidInput, "the target has " + std::to_string(text.size()) +
                                          " bytes, limit " + std::to_string(kTargetBytesMax)};
  }
  if (text.empty() || text.front() != '/') return Malformed("it does not start with /", text);
  for (const char c : text) {
    if (!IsPrintable(c) || c == '#')
      return Malformed("it has a character that must be escaped", text);
  }
  const size_t question = text.find('?');
  Target target;
  for (const std::string_view part : Split(text.substr(1, question - 1), '/')) {
    if (target.segments.size() == kSegmentsMax) return Malformed("too many segments", text);
    KUAFU_TRY(std::string segment, Decode(part, text, false));
    target.segments.push_back(std::move(segment));
  }
  if (question == std::string_view::npos || question + 1 == text.size()) return target;
  for (const std::string_view item : Split(text.substr(question + 1), '&')) {
    if (item.empty()) continue;
    if (target.query.size() == kQueryItemsMax) return Malformed("too many parts of a query", text);
    const size_t equals = std::min(item.find('='), item.size());
    KUAFU_TRY(std::string name, Decode(item.substr(0, equals), text, true));
    KUAFU_TRY(std::string value,
              Decode(item.substr(std::min(equals + 1, item.size())), text, true));
    target.query.emplace_back(std::move(name), std::move(value));
  }
  return target;
}

const std::string* Request::Find(std::string_view name) const { return FindIn(headers, name); }
const std::string* Response::Find(std::string_view name) const { return FindIn(headers, name); }

std::string_view Request::Query(std::string_view name, std::string_view otherwise) const {
  for (const auto& [key, value] : target.query) {
    if (key == name) return value;
  }
  return otherwise;
}

Response JsonResponse(int status, const Json& body) {
  Response response;
  response.status = status;
  response.body = DumpJson(body) + "\n";
  return response;
}

Response ErrorResponse(int status, std::string_view code, std::string_view message) {
  return JsonResponse(status, {{"error", {{"code", code}, {"message", message}}}});
}

int StatusOf(Code code) {
  switch (code) {
    case Code::kInvalidInput: return 400;
    case Code::kNotFound: return 404;
    case Code::kAlreadyExists:
    case Code::kCancelled: return 409;
    case Code::kUnsupported: return 501;
    case Code::kUnavailable: return 503;
    case Code::kDeadline: return 504;
    case Code::kExhausted: return 429;
    case Code::kCorrupt:
    case Code::kInternal: break;
  }
  return 500;
}

Response ErrorResponse(const Error& error) {
  return ErrorResponse(StatusOf(error.code), CodeName(error.code), error.message);
}

bool HasJsonType(const Request& request) {
  const std::string* type = request.Find("content-type");
  if (type == nullptr) return false;
  return SameName(Trim(Split(*type, ';').front()), kJsonType);
}

Result<Json> JsonBody(const Request& request) {
  Result<Json> body = ParseJson(request.body);
  if (!body.ok()) return std::move(body).error().WithContext("reading the body");
  return body;
}

bool SameSecret(std::string_view a, std::string_view b) {
  // The length may show; the content may not.
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    const char other = b.empty() ? '\0' : b[i % b.size()];
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(other);
  }
  return difference == 0;
}

bool BearerMatches(const Request& request, const std::vector<std::string>& keys) {
  const std::string* header = request.Find("authorization");
  if (header == nullptr) return false;
  constexpr std::string_view kScheme = "bearer ";
  if (header->size() <= kScheme.size() ||
      !SameName(std::string_view(*header).substr(0, kScheme.size()), kScheme)) {
    return false;
  }
  const std::string_view given = Trim(std::string_view(*header).substr(kScheme.size()));
  bool matches = false;
  for (const std::string& key : keys) matches |= SameSecret(given, key);
  return matches;
}

Result<std::vector<std::string>> ParseKeys(std::string_view text) {
  std::vector<std::string> keys;
  int64_t number = 0;
  for (const std::string_view raw : SplitLines(text)) {
    ++number;
    const std::string_view line = Trim(raw);
    if (line.empty() || line.front() == '#') continue;
    if (line.size() < kKeyCharsMin || line.size() > kKeyCharsMax ||
        !std::all_of(line.begin(), line.end(), IsPrintable)) {
      return Error{Code::kInvalidInput,
                   "the API key in line " + std::to_string(number) + " must have " +
                       std::to_string(kKeyCharsMin) + " to " + std::to_string(kKeyCharsMax) +
                       " printable characters; make one with: openssl rand -hex 32"};
    }
    if (keys.size() == kKeysMax) return Error{Code::kInvalidInput, "more than 1000 API keys"};
    keys.emplace_back(line);
  }
  if (keys.empty()) return Error{Code::kInvalidInput, "the file has no API key; one a line"};
  return keys;
}

Result<Endpoint> ParseEndpoint(std::string_view text) {
  const Error malformed{Code::kInvalidInput, "the address '" + EscapeForMessage(text, 80) +
                                                 "' is not of the form 127.0.0.1:8077 or "
                                                 "[::1]:8077"};
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return malformed;
  std::string_view host = text.substr(0, colon);
  const auto port = ParseInt64(text.substr(colon + 1));
  if (!port.has_value() || *port < 0 || *port > 65535) return malformed;
  if (host.front() == '[') {
    if (host.back() != ']' || host.size() < 3) return malformed;
    host = host.substr(1, host.size() - 2);
  } else if (Contains(host, ":")) {
    return malformed;
  }
  Endpoint endpoint;
  endpoint.host = host == "localhost" ? "127.0.0.1" : std::string(host);
  endpoint.port = static_cast<uint16_t>(*port);
  endpoint.loopback = StartsWith(endpoint.host, "127.") || endpoint.host == "::1";
  return endpoint;
}

}  // namespace kuafu::http
