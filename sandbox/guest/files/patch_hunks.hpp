#pragma once

#include "sandbox/guest/files/document.hpp"
#include "sandbox/guest/files/patch_text.hpp"

namespace berth::guest {

/// Makes an update's hunks in the document, each behind the one before. Old lines are found as they
/// are or, where they are not, through what find_tolerant() looks through. Without a header above
/// them they must be the only ones; behind headers, the first. Returns a set of Tolerance: what
/// they differed in. Throws Error: text_not_found, ambiguous_match, too_large.
unsigned apply_hunks(const PatchEntry& entry, Document& document);

} // namespace berth::guest
