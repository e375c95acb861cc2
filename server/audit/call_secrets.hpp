#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace berth::server {

/// What a call's own `env` has that must not be seen.
struct CallSecrets {
    std::vector<std::string> names; ///< of its variables, as far as they are known to be names
    std::vector<std::string> values;
    bool are_all = true; ///< false: there are too many to be looked for
};

/// `arguments`: as they came, also those of a call that was refused for them. Of an `env` that has
/// another form than names with texts every text and number counts as a value, whole and in pieces:
/// the client meant a secret by one of them, and rather too much is hidden.
[[nodiscard]] CallSecrets secrets_of_call(const nlohmann::json& arguments);

} // namespace berth::server
