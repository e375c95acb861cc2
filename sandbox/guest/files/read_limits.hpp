#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::guest {

/// What fits into a reply, with room for the rest of it.
inline constexpr std::uint64_t max_content = 32ULL * 1024 * 1024;

/// Shown of a file that is not text.
inline constexpr std::size_t binary_preview = 256;

} // namespace berth::guest
