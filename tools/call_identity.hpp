#pragma once

#include "tools/tool.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace berth::tools {

/// A digest that two calls share when they are the same call: the tool, and those of its arguments
/// that have an effect, under canonical names, whatever spelling they came in. It begins with
/// own_name() and a blank; the arguments cannot be told from it. Those that the tool refuses count
/// as they came.
[[nodiscard]] std::string call_identity(const Entry& tool, const nlohmann::json& arguments,
                                        const Settings& settings);

/// The arguments as the tool itself takes them, by their canonical names; those that it refuses as
/// they came.
[[nodiscard]] nlohmann::json own_form(const Entry& tool, const nlohmann::json& arguments,
                                      const Settings& settings);

} // namespace berth::tools
