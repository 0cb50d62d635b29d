// SPDX-License-Identifier: Apache-2.0
// Text helpers; locale-free, so a number reads the same on every machine.
#include "base/text.h"

#include <array>
#include <charconv>
#include <cstdio>

namespace kuafu {

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  while (true) {
    size_t end = text.find(separator, begin);
    if (end == std::string_view::npos) break;
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<std::string_view> SplitLines(std::string_view text) {
  if (text.empty()) return {};
  if (text.back() == '\n') text.remove_suffix(1);
  std::vector<std::string_view> lines = Split(text, '\n');
  for (std::string_view& line : lines) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  }
  return lines;
}

std::string Join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

bool StartsWith(std::string_view text, std::string_view prefix) { return text.starts_with(prefix); }
bool EndsWith(std::string_view text, std::string_view suffix) { return text.ends_with(suffix); }
bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  if (from.empty()) return std::string(text);
  std::string result;
  size_t begin = 0;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, begin)) {
    result += text.substr(begin, at - begin);
    result += to;
    begin = at + from.size();
  }
  result += text.substr(begin);
  return result;
}

namespace {

template <class T>
std::optional<T> ParseWhole(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<int64_t> ParseInt64(std::string_view text) { return ParseWhole<int64_t>(text); }
std::optional<double> ParseDouble(std::string_view text) { return ParseWhole<double>(text); }

std::string FormatBytes(int64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  double magnitude = value < 0 ? -value : value;
  std::array<char, 48> text{};
  if (magnitude < 1024) {
    std::snprintf(text.data(), text.size(), "%lld B", static_cast<long long>(bytes));
    return text.data();
  }
  size_t unit = 0;
  value /= 1024;
  // 1023.95 would print as "1024.0 KiB"; it belongs to the next unit.
  while ((value < 0 ? -value : value) >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::string FormatDurationNs(int64_t ns) {
  std::array<char, 48> text{};
  double value = static_cast<double>(ns);
  if (ns < 1000) {
    std::snprintf(text.data(), text.size(), "%lld ns", static_cast<long long>(ns));
  } else if (value < 999.95e3) {
    std::snprintf(text.data(), text.size(), "%.1f us", value / 1e3);
  } else if (value < 999.995e6) {
    std::snprintf(text.data(), text.size(), "%.2f ms", value / 1e6);
  } else if (value < 59.995e9) {
    std::snprintf(text.data(), text.size(), "%.2f s", value / 1e9);
  } else {
    long long seconds = static_cast<long long>(value / 1e9 + 0.5);
    std::snprintf(text.data(), text.size(), "%lld m %02lld s", seconds / 60, seconds % 60);
  }
  return text.data();
}

std::string ToHex(std::span<const uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string EscapeForMessage(std::string_view text, int64_t chars_max) {
  std::string result;
  for (char c : text) {
    if (static_cast<int64_t>(result.size()) >= chars_max) {
      result += "...";
      break;
    }
    auto byte = static_cast<uint8_t>(c);
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (c == '\r') {
      result += "\\r";
    } else if (c == '\\') {
      result += "\\\\";
    } else if (byte < 0x20 || byte >= 0x7f) {
      result += "\\x" + ToHex({&byte, 1});
    } else {
      result += c;
    }
  }
  return result;
}

bool IsUtf8(std::string_view text) {
  size_t i = 0;
  auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
  while (i < text.size()) {
    uint32_t lead = byte(i);
    size_t length = lead < 0x80         ? 1
                    : (lead >> 5) == 6  ? 2
                    : (lead >> 4) == 14 ? 3
                    : (lead >> 3) == 30 ? 4
                                        : 0;
    if (length == 0 || i + length > text.size()) return false;
    uint32_t point = length == 1 ? lead : lead & (0x7fu >> length);
    for (size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return false;
      point = point << 6 | (byte(i + k) & 0x3fu);
    }
    constexpr std::array<uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
    if (point < kSmallest[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
      return false;
    i += length;
  }
  return true;
}

}  // namespace kuafu
