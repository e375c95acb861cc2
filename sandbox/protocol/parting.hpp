#pragma once

#include <cstddef>

namespace berth::protocol {

/// In bytes, of what may follow that byte: an encoded InfoReply with the outcomes, unseen and cut
/// off, of which nobody was told, and nothing else in it.
inline constexpr std::size_t longest_last_words = 16UL * 1024;

/// What a guest that ends itself leaves in the file of GuestConfig::parting_fd, in place of the
/// byte that is there while it lives: it is asked for when nobody answers any more. A machine of
/// which nothing is noted was lost.
enum class Parting : char {
    none = '?',    ///< it lives, or something ended it
    unused = 'u',  ///< nobody used it for its time to live
    retired = 'r', ///< a server asked it to make room for another machine, and nobody used it
    left = 'l',    ///< its last client left, and that was to be its end
    asked = 'a',   ///< another's word: it was being made, and `berth sessions kill` ended it
};

} // namespace berth::protocol
