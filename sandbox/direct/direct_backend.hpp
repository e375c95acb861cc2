#pragma once

#include "sandbox/backend.hpp"

#include <memory>
#include <string>

namespace berth::direct {

/// Machines that are none: the guest as a plain child of this process, confined by nothing. For
/// tests of everything above the backends. `guest_program`: the absolute path of berth-guest.
/// `state_directory`: machines live in <state_directory>/<key hash>/{home,tmp,run}. Their guests
/// end with the backend at the latest.
[[nodiscard]] std::unique_ptr<sandbox::Backend> make_backend(std::string guest_program,
                                                             std::string state_directory);

} // namespace berth::direct
