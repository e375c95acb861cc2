#pragma once

#include "sandbox/guest/files/document.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::guest {

/// Of a file that is edited, where a request says nothing else.
inline constexpr std::uint64_t default_max_size = 256ULL * 1024 * 1024;

/// Throws Error(too_large) for a file that has more than `max_size` bytes.
void require_editable_size(std::uint64_t size, std::uint64_t max_size, const std::string& path);

/// Throws Error(text_not_found) that names the lines nearest to `text` and what differs in them.
/// `what`: what was looked for, as the caller knows it; `hint`: what comes before the nearest
/// lines.
[[noreturn]] void throw_not_found(const Document& document, std::string_view text,
                                  const std::string& what, std::string hint = {});

/// Throws Error(ambiguous_match) with the lines of the matches (two at least); the first has `size`
/// bytes.
[[noreturn]] void throw_ambiguous(const Document& document,
                                  const std::vector<std::uint64_t>& matches, std::size_t size,
                                  const std::string& what, const std::string& advice);

} // namespace berth::guest
