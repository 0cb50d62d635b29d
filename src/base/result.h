// SPDX-License-Identifier: Apache-2.0
// Errors as values. A function that can fail returns Result<T> or Status; KUAFU_TRY propagates.
//
//   Result<File> Open(const std::string& path);
//   KUAFU_TRY(File file, Open("a.txt"));          // returns the error to the caller
//   KUAFU_TRY_STATUS(file.Sync());
//
// Exceptions are not used: a failing path costs a move instead of an unwind, and the signature says
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace kuafu {

// Each code is defined by what the caller should do about it.
enum class Code : uint8_t {
  kInvalidInput,   // the caller's data is wrong: fix it
  kNotFound,       // the thing named does not exist
  kAlreadyExists,  // choose another name or accept what is there
  kUnsupported,    // correct request, not implemented or not possible here
  kUnavailable,    // try again later or elsewhere
  kDeadline,       // ran out of time
  kCancelled,      // somebody asked to stop
  kExhausted,      // a limit was reached: memory, disk, queue
  kCorrupt,        // stored or transmitted data fails its check
  kInternal,       // a bug in this program
};

std::string_view CodeName(Code code);

// Message: what was attempted + value + limit + what to do; lower case, no full stop, no newline.
struct [[nodiscard]] Error {
  Code code = Code::kInternal;
  std::string message;

  // The same error with context put in front: "while loading x: ...".
  Error WithContext(std::string_view context) &&;
  // "invalid_input: message", for logs and the terminal.
  std::string ToString() const;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : v_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return v_.index() == 0; }
  // Precondition for value(): ok(). Precondition for error(): !ok().
  T& value() & { return std::get<0>(v_); }
  const T& value() const& { return std::get<0>(v_); }
  T&& value() && { return std::get<0>(std::move(v_)); }
  Error& error() & { return std::get<1>(v_); }
  const Error& error() const& { return std::get<1>(v_); }
  Error&& error() && { return std::get<1>(std::move(v_)); }

 private:
  std::variant<T, Error> v_;
};

// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  Status(Error error) : error_(std::move(error)), failed_(true) {}
  bool ok() const { return !failed_; }
  Error& error() & { return error_; }
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  Error error_;
  bool failed_ = false;
};

inline Status OkStatus() { return {}; }

}  // namespace kuafu

#define KUAFU_CONCAT_INNER(a, b) a##b
#define KUAFU_CONCAT(a, b) KUAFU_CONCAT_INNER(a, b)
#define KUAFU_TRY_INNER(tmp, lhs, expr)         \
  auto tmp = (expr);                            \
  if (!tmp.ok()) return std::move(tmp).error(); \
  lhs = std::move(tmp).value()
#define KUAFU_TRY(lhs, expr) KUAFU_TRY_INNER(KUAFU_CONCAT(kuafu_try_, __LINE__), lhs, expr)
#define KUAFU_TRY_STATUS(expr)                                      \
  do {                                                              \
    auto kuafu_status = (expr);                                     \
    if (!kuafu_status.ok()) return std::move(kuafu_status).error(); \
  } while (0)
