#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/programs.hpp"

#include <memory>
#include <string>
#include <vector>

namespace berth::local {

/// What that is made of which a launcher waits with.
struct Expected {
    sandbox::Network network = sandbox::Network::none;
    std::string resolv_conf;
    std::vector<Cover> hidden;
    sandbox::Limits limits;
    std::shared_ptr<Programs> programs;

    friend bool operator==(const Expected&, const Expected&) = default;
};

} // namespace berth::local
