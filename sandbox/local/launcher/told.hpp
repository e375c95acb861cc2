#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <optional>

namespace berth::local {

/// What a guest-to-be that waits is told of its machine. -1: none.
struct Told {
    int spec = -1; ///< a file, the encoded LaunchSpec
    int lifetime = -1;
    int proxy = -1;
};

/// False when it is gone.
[[nodiscard]] bool tell_guest(int socket, const Told& what);

/// The same as the guest-to-be has it.
struct Heard {
    UniqueFd spec;
    UniqueFd lifetime;
    UniqueFd proxy;
};

/// Waits for it. Nothing when the launcher has ended, or needs no guest. Throws std::system_error.
[[nodiscard]] std::optional<Heard> hear(int socket);

} // namespace berth::local
