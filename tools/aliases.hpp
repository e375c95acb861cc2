#pragma once

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string_view>

namespace berth::tools {

/// Another spelling of an argument, or of one of its values.
struct Alias {
    std::string_view from;
    /// The canonical name; empty: the argument is accepted and has no effect.
    std::string_view to;
    /// When not empty, the alias is of the value `value` of the argument `from`, and `to` is the
    /// canonical value.
    std::string_view value = {};
    /// When not empty, a value other than null and false is Error(unsupported) with this hint.
    std::string_view unsupported = {};
};

/// Renames aliases, drops what has no effect, and drops nulls: models write null for "not given".
/// Throws Error(invalid_argument) when an argument came under two names with different values.
/// `arguments` is returned as it is when it is no object.
[[nodiscard]] nlohmann::json canonical_arguments(const nlohmann::json& arguments,
                                                 std::span<const Alias> aliases);

} // namespace berth::tools
