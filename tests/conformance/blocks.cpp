#include "tests/conformance/fixture.hpp"

#include <utility>

namespace berth::conformance {

json text_block(const std::string& text)
{
    return {{"type", "text"}, {"text", text}};
}

json picture_block()
{
    return {{"type", "image"}, {"data", picture}, {"mimeType", "image/png"}};
}

json resource_block(const std::string& uri, const std::string& type, const std::string& text)
{
    return {{"type", "resource"}, {"resource", {{"uri", uri}, {"mimeType", type}, {"text", text}}}};
}

mcp::Outcome content(json blocks)
{
    return mcp::Outcome(json{{"content", std::move(blocks)}});
}

json no_arguments()
{
    return {{"type", "object"}, {"additionalProperties", false}};
}

mcp::ProtocolTool
make_tool(const std::string& name, const std::string& description, const json& input_schema,
          std::function<mcp::Outcome(const mcp::RequestContext&, const json&)> call,
          std::vector<std::string> needs)
{
    const json definition{
        {"name", name}, {"description", description}, {"inputSchema", input_schema}};
    return {.name = name,
            .definition = definition.dump(),
            .call = std::move(call),
            .needs = std::move(needs)};
}

json elicitation(const std::string& message, const json& properties)
{
    json required = json::array();
    for (const auto& [name, property] : properties.items()) {
        required.push_back(name);
    }
    return {{"message", message},
            {"requestedSchema",
             {{"type", "object"}, {"properties", properties}, {"required", required}}}};
}

} // namespace berth::conformance
