#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// How numbers and bytes are written for people and models; the same in every tool.

namespace berth::tools {

/// 1234567 -> "1,234,567".
[[nodiscard]] std::string thousands(std::uint64_t number);

/// "1 line", "1,234 lines".
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view noun);

/// "512 bytes", "56.7 KB", "2.1 MB": powers of 1000, as `ls --si`.
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);

/// Of a limit, as an operator sets it and `berth config` shows it: 2 GiB, not 2.1 GB.
[[nodiscard]] std::string limit_bytes(std::uint64_t bytes);

/// "340 ms", "1.2 s", "12 min 5 s".
[[nodiscard]] std::string human_duration(std::chrono::milliseconds duration);

/// What is left of something, to the nearest "45 s", "30 min", "2 h".
[[nodiscard]] std::string rough_duration(std::chrono::milliseconds duration);

/// "SIGSEGV"; "signal 40" where it has no name.
[[nodiscard]] std::string signal_name(int number);

/// What `hexdump -C` prints: offset, 16 bytes, their characters.
[[nodiscard]] std::string hexdump(std::string_view bytes);

/// `before` and "sha256 1a2b3c4d5e6f": the beginning of a hash, enough for if_sha256; empty for
/// none.
[[nodiscard]] std::string short_hash(std::string_view before, std::string_view sha256);

/// The parts that are not empty between brackets: "[a · b]"; empty when there is none.
[[nodiscard]] std::string status_line(const std::vector<std::string>& parts);

} // namespace berth::tools
