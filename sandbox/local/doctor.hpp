#pragma once

#include "sandbox/backend.hpp"

#include <string>
#include <vector>

namespace berth::local {

using sandbox::Check;

/// The name of every check that run_doctor() makes where a sandbox can be made; makes none.
[[nodiscard]] std::vector<std::string> check_names();

/// Makes a throw-away sandbox with low limits, this network and this template on `backend`, tries
/// from inside to break each layer, and destroys it again. Takes seconds. Throws nothing: what
/// cannot be tried is a check that is not ok.
[[nodiscard]] std::vector<Check> run_doctor(sandbox::Backend& backend,
                                            sandbox::Network network = sandbox::Network::none,
                                            const std::string& template_name = {});

} // namespace berth::local
