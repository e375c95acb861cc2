#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>
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

struct HeaderText {
    std::string text;
    bool is_number = false;
};

/// What its header must say; nothing: it must be missing.
[[nodiscard]] std::optional<HeaderText> header_text(const nlohmann::json& arguments,
                                                    const HeaderArgument& argument);

/// Whether a header says that. Numbers are compared as such: some clients write 42 as 42.0.
[[nodiscard]] bool is_said(const HeaderText& expected, std::string_view said);

} // namespace berth::mcp
