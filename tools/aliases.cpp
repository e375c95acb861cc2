#include "tools/aliases.hpp"

#include "sandbox/base/error.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace berth::tools {
namespace {

using nlohmann::json;

void rename(json& arguments, const Alias& alias)
{
    const auto found = arguments.find(alias.from);
    if (found == arguments.end()) {
        return;
    }
    if (!alias.value.empty()) {
        if (*found == json(alias.value)) {
            *found = alias.to;
        }
        return;
    }
    json value = std::move(*found);
    arguments.erase(found);
    if (!alias.unsupported.empty() && !value.is_null() && value != json(false)) {
        throw Error(ErrorCode::unsupported, std::string(alias.from) + " is not supported",
                    std::string(alias.unsupported));
    }
    if (alias.to.empty() || value.is_null()) {
        return;
    }
    const auto canonical = arguments.find(alias.to);
    if (canonical == arguments.end() || canonical->is_null()) {
        arguments[std::string(alias.to)] = std::move(value);
    } else if (*canonical != value) {
        throw Error(ErrorCode::invalid_argument,
                    std::string(alias.to) + " and " + std::string(alias.from) +
                        " are the same argument and have different values",
                    "Give only " + std::string(alias.to) + ".");
    }
}

} // namespace

json canonical_arguments(const json& arguments, std::span<const Alias> aliases)
{
    json result = arguments;
    if (!result.is_object()) {
        return result;
    }
    for (const auto& alias : aliases) {
        rename(result, alias);
    }
    for (auto member = result.begin(); member != result.end();) {
        member = member->is_null() ? result.erase(member) : std::next(member);
    }
    return result;
}

} // namespace berth::tools
