#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::server {

/// "90", "90s", "5m", "12h", "7d", "250ms"; a bare number counts seconds. In milliseconds.
[[nodiscard]] std::optional<double> parse_duration(std::string_view text);

/// "4096", "64KiB", "2GiB", "30MB" is not one: only powers of 1024 have names here.
[[nodiscard]] std::optional<double> parse_bytes(std::string_view text);

[[nodiscard]] std::optional<double> parse_number(std::string_view text);

/// true, false, 1, 0, yes, no, on, off.
[[nodiscard]] std::optional<bool> parse_boolean(std::string_view text);

/// At commas; surrounding blanks and empty items go.
[[nodiscard]] std::vector<std::string> split_list(std::string_view text);

/// The same of lines.
[[nodiscard]] std::vector<std::string> split_lines(std::string_view text);

/// "12 h", "1500 ms", "2 GiB", "1000", as short as it is exact.
[[nodiscard]] std::string format_duration(double milliseconds);
[[nodiscard]] std::string format_bytes(double bytes);
[[nodiscard]] std::string format_number(double number);

} // namespace berth::server
