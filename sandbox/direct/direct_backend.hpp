#pragma once

#include "sandbox/backend.hpp"

#include <memory>
#include <string>

namespace berth::direct {

/// `guest_program`: the path of berth-guest. `state_directory`: where the machines' folders are.
[[nodiscard]] std::unique_ptr<sandbox::Backend> make_backend(std::string guest_program,
                                                             std::string state_directory);

} // namespace berth::direct
