#pragma once

#include "sandbox/guest/files/document.hpp"

#include <cstdint>
#include <string>

namespace berth::guest {

struct Diff {
    std::string text;
    bool truncated = false;
};

/// What the document's changes are, as a unified diff with three lines of context that GNU patch
/// applies, at most `budget` bytes: whole hunks, or the beginning of the first. Reads the original
/// only around the changes (and up to them, to count lines). Bytes that are not UTF-8 are shown as
/// U+FFFD. `created`: there was no file before. `binary`: old or new bytes are not text; only that
/// they differ is said.
[[nodiscard]] Diff unified_diff(const Document& document, std::uint64_t budget, bool created,
                                bool binary);

} // namespace berth::guest
