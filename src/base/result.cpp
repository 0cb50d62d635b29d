// SPDX-License-Identifier: Apache-2.0
// Names of error codes and the text form of an error.
#include "base/result.h"

namespace kuafu {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kInvalidInput: return "invalid_input";
    case Code::kNotFound: return "not_found";
    case Code::kAlreadyExists: return "already_exists";
    case Code::kUnsupported: return "unsupported";
    case Code::kUnavailable: return "unavailable";
    case Code::kDeadline: return "deadline";
    case Code::kCancelled: return "cancelled";
    case Code::kExhausted: return "exhausted";
    case Code::kCorrupt: return "corrupt";
    case Code::kInternal: return "internal";
  }
  return "unknown";
}

Error Error::WithContext(std::string_view context) && {
  std::string text(context);
  text += ": ";
  text += message;
  return Error{code, std::move(text)};
}

std::string Error::ToString() const {
  std::string text(CodeName(code));
  text += ": ";
  text += message;
  return text;
}

}  // namespace kuafu
