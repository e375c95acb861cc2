#pragma once

#include "sandbox/guest/files/document.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace berth::guest {

/// More matches than that are not replaced in one edit: their list would outgrow the guest.
inline constexpr std::size_t max_matches = 1'000'000;

enum class Overlap : unsigned char { skipped, reported };

/// Where `text` (not empty) is in the document, byte by byte the same; none overlaps the one
/// before, but with `reported` the second may overlap the first: who wants the only place must
/// know of it ("aa" in "aaa"). Memory: the text, a piece of the stream, and the list. Throws
/// Error(too_large).
[[nodiscard]] std::vector<std::uint64_t> find_text(const Document& document, std::string_view text,
                                                   Overlap overlap);

/// For each of the offsets, which are in order, how the line that it is in ends: with CRLF, LF or,
/// the last of the document, nothing.
[[nodiscard]] std::vector<std::string_view>
line_ends_behind(const Document& document, const std::vector<std::uint64_t>& offsets);

/// The lines (1-based) on which the first `limit` of the positions are.
[[nodiscard]] std::vector<std::uint64_t>
lines_of(const Document& document, const std::vector<std::uint64_t>& positions, std::size_t limit);

} // namespace berth::guest
