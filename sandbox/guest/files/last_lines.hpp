#pragma once

#include "sandbox/guest/call_context.hpp"
#include "sandbox/guest/files/content_type.hpp"
#include "sandbox/guest/paths.hpp"

#include <cstdint>

namespace berth::guest {

/// Where the last lines of a text begin.
struct LastLines {
    std::uint64_t begin = 0; ///< byte offset of the first of them
    std::uint64_t lines = 0; ///< how many there are: as many as were wanted, or all of the file's
    bool final_newline = false;
};

/// Looks for the last `wanted` lines of the first `size` bytes of a text, from their end on, so
/// that a huge file costs what its last lines are long. At most max_hashed_size bytes are looked
/// through: Error(too_large) when the lines begin before them.
[[nodiscard]] LastLines find_last_lines(const Opened& file, std::uint64_t size,
                                        std::uint64_t wanted, TextEncoding encoding,
                                        const CallContext& context);

} // namespace berth::guest
