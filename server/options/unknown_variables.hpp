#pragma once

#include <string>
#include <vector>

namespace berth::server {

struct UnknownVariable {
    std::string name;
    std::string nearest; ///< of those that berth reads; empty when none is near
};

/// Which of `names` begin like a variable of berth and are none: a setting that is misspelt would
/// otherwise be a setting that is silently not in force.
[[nodiscard]] std::vector<UnknownVariable> unknown_variables(const std::vector<std::string>& names);

/// The names in this process's environment.
[[nodiscard]] std::vector<std::string> variable_names();

} // namespace berth::server
