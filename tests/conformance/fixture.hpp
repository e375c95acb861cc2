#pragma once

#include "server/mcp/offers.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

// What the official conformance suite expects of the server that it looks at: tools, prompts and
// resources of these names, which do nothing but speak the protocol. Names and texts are the
// suite's.

namespace berth::conformance {

using nlohmann::json;

/// 1 x 1 pixel, base64.
inline constexpr std::string_view picture =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg==";
/// Two samples, base64.
inline constexpr std::string_view sound =
    "UklGRigAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQQAAAAAAAAA";

[[nodiscard]] json text_block(const std::string& text);
[[nodiscard]] json picture_block();
[[nodiscard]] json resource_block(const std::string& uri, const std::string& type,
                                  const std::string& text);

/// `{"content": [...]}`.
[[nodiscard]] mcp::Outcome content(json blocks);

[[nodiscard]] mcp::ProtocolTool
make_tool(const std::string& name, const std::string& description, const json& input_schema,
          std::function<mcp::Outcome(const mcp::RequestContext&, const json&)> call,
          std::vector<std::string> needs = {});

/// Of a tool without arguments.
[[nodiscard]] json no_arguments();

/// An elicitation/create for the strings of these names.
[[nodiscard]] json elicitation(const std::string& message, const json& properties);

/// Tools whose result is content.
[[nodiscard]] std::vector<mcp::ProtocolTool> plain_tools();
/// Tools that ask the client while they run, as in the older revisions.
[[nodiscard]] std::vector<mcp::ProtocolTool> asking_tools();
/// Tools that say what they need to know, as in 2026-07-28.
[[nodiscard]] std::vector<mcp::ProtocolTool> input_tools();
[[nodiscard]] std::vector<mcp::Prompt> prompts();
[[nodiscard]] std::shared_ptr<mcp::Resources> resources();

} // namespace berth::conformance
