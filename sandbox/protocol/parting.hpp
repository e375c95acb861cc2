#pragma once

namespace berth::protocol {

/// What a guest that ends itself leaves in the file of GuestConfig::parting_fd, in place of the
/// byte that is there while it lives: it is asked for when nobody answers any more, and what is not
/// noted was not the guest's own doing.
enum class Parting : char {
    none = '?',    ///< it lives, or something ended it
    unused = 'u',  ///< nobody used it for its time to live
    retired = 'r', ///< a server asked it to make room for another machine, and nobody used it
    left = 'l',    ///< its last client left, and that was to be its end
};

} // namespace berth::protocol
