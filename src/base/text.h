// SPDX-License-Identifier: Apache-2.0
// Small text helpers that the standard library of g++ 12 does not have.
//
//   for (std::string_view part : Split("a,b", ',')) ...
//   FormatBytes(1536) == "1.5 KiB"
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kuafu {

// The views point into `text`. Empty parts are kept: Split("a,,b", ',') has three parts.
std::vector<std::string_view> Split(std::string_view text, char separator);
// Lines without their end ("\n" or "\r\n"); a final line end does not make an extra empty line.
std::vector<std::string_view> SplitLines(std::string_view text);
std::string Join(std::span<const std::string> parts, std::string_view separator);
std::string_view Trim(std::string_view text);

bool StartsWith(std::string_view text, std::string_view prefix);
bool EndsWith(std::string_view text, std::string_view suffix);
bool Contains(std::string_view text, std::string_view part);
std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to);

// The whole text must be a number in range; anything else is nullopt.
std::optional<int64_t> ParseInt64(std::string_view text);
std::optional<double> ParseDouble(std::string_view text);

// "512 B", "1.5 KiB", "3.2 GiB".
std::string FormatBytes(int64_t bytes);
// "850 ns", "12.3 us", "4.50 ms", "1.20 s", "2 m 05 s".
std::string FormatDurationNs(int64_t ns);

// Lower-case hexadecimal, two digits a byte.
std::string ToHex(std::span<const uint8_t> bytes);
// Printable ASCII and the usual escapes; everything else as \xNN. For hostile text in messages.
// At most `chars_max` characters of output, "..." at the end when cut.
std::string EscapeForMessage(std::string_view text, int64_t chars_max = 200);
// True if every byte sequence is well-formed UTF-8.
bool IsUtf8(std::string_view text);

}  // namespace kuafu
