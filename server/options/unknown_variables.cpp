#include "server/options/unknown_variables.hpp"

#include "sandbox/base/spelling.hpp"
#include "server/options/definitions.hpp"

#include <algorithm>
#include <string_view>

#include <unistd.h>

namespace berth::server {

std::vector<UnknownVariable> unknown_variables(const std::vector<std::string>& names)
{
    // Beside the settings.
    std::vector<std::string> known{"BERTH_CONFIG", "BERTH_LIBEXEC_DIR", "BERTH_SESSION"};
    for (const auto& definition : definitions()) {
        known.push_back(variable_of(definition));
    }
    std::vector<UnknownVariable> unknown;
    for (const auto& name : names) {
        if (name.starts_with("BERTH_") &&
            std::find(known.begin(), known.end(), name) == known.end()) {
            unknown.push_back({.name = name, .nearest = nearest(name, known)});
        }
    }
    return unknown;
}

std::vector<std::string> variable_names()
{
    std::vector<std::string> names;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        names.emplace_back(text.substr(0, text.find('=')));
    }
    return names;
}

} // namespace berth::server
