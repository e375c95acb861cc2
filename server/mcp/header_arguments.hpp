#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace berth::mcp {

/// An argument that a client repeats in a header of its own, Mcp-Param-NAME, for who routes by it
/// on the way: `x-mcp-header` of its schema says so.
struct HeaderArgument {
    std::vector<std::string> path; ///< from the arguments on
    std::string name;              ///< of the header, in small letters, without its beginning
};

/// Those of a tool's input schema.
[[nodiscard]] std::vector<HeaderArgument> header_arguments_of(const nlohmann::json& input_schema);

/// What its header must say; nothing: it must be missing.
[[nodiscard]] std::optional<std::string> header_text(const nlohmann::json& arguments,
                                                     const HeaderArgument& argument);

} // namespace berth::mcp
