#include "sandbox/base/error.hpp"
#include "tests/conformance/fixture.hpp"

#include <chrono>
#include <thread>

namespace berth::conformance {
namespace {

using mcp::Outcome;
using mcp::ProtocolTool;
using mcp::RequestContext;

constexpr std::chrono::milliseconds step{50};

/// A tool that always answers the same.
ProtocolTool constant_tool(const std::string& name, const std::string& description,
                           const json& blocks)
{
    return make_tool(name, description, no_arguments(),
                     [blocks](const RequestContext&, const json&) { return content(blocks); });
}

Outcome log_three(const RequestContext& context, const json&)
{
    for (const auto* text :
         {"Tool execution started", "Tool processing data", "Tool execution completed"}) {
        context.log(mcp::LogLevel::info, "conformance", text);
        std::this_thread::sleep_for(step);
    }
    return content({text_block("Three messages were sent.")});
}

Outcome tell_progress(const RequestContext& context, const json&)
{
    constexpr double whole = 100;
    for (const double done : {0.0, 50.0, whole}) {
        context.progress(done, whole);
        std::this_thread::sleep_for(step);
    }
    return content({text_block("Progress was told three times.")});
}

Outcome fail(const RequestContext&, const json&)
{
    throw Error(ErrorCode::internal, "This tool intentionally returns an error for testing");
}

json all_keywords()
{
    return json::parse(R"({
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "type": "object",
      "$defs": {"address": {"$anchor": "addressDef", "type": "object",
        "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
      "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"}, "email": {"type": "string"}},
      "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
      "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
      "then": {"required": ["phone"]}, "else": {"required": ["email"]},
      "additionalProperties": false})");
}

std::vector<ProtocolTool> content_tools()
{
    const json sound_block{{"type", "audio"}, {"data", sound}, {"mimeType", "audio/wav"}};
    std::vector<ProtocolTool> tools;
    tools.push_back(
        constant_tool("test_simple_text", "Returns a text.",
                      json::array({text_block("This is a simple text response for testing.")})));
    tools.push_back(
        constant_tool("test_image_content", "Returns a picture.", json::array({picture_block()})));
    tools.push_back(
        constant_tool("test_audio_content", "Returns a sound.", json::array({sound_block})));
    tools.push_back(
        constant_tool("test_embedded_resource", "Returns a resource.",
                      json::array({resource_block("test://embedded-resource", "text/plain",
                                                  "This is an embedded resource content.")})));
    tools.push_back(constant_tool(
        "test_multiple_content_types", "Returns a text, a picture and a resource.",
        json::array({text_block("Multiple content types test:"), picture_block(),
                     resource_block("test://mixed-content-resource", "application/json",
                                    R"({"test":"data","value":123})")})));
    return tools;
}

} // namespace

std::vector<ProtocolTool> plain_tools()
{
    auto tools = content_tools();
    const json header_argument{
        {"type", "object"},
        {"properties", {{"region", {{"type", "string"}, {"x-mcp-header", "Region"}}}}}};
    tools.push_back(make_tool("json_schema_2020_12_tool", "Has a schema with many keywords.",
                              all_keywords(), [](const RequestContext&, const json& arguments) {
                                  return content(json::array({text_block(arguments.dump())}));
                              }));
    tools.push_back(make_tool("test_header_argument", "Has an argument that a header repeats.",
                              header_argument, [](const RequestContext&, const json& arguments) {
                                  return content(json::array({text_block(arguments.dump())}));
                              }));
    tools.push_back(
        make_tool("test_tool_with_logging", "Sends three messages.", no_arguments(), log_three));
    tools.push_back(make_tool("test_logging_tool", "Sends messages to who wants them.",
                              no_arguments(), log_three));
    tools.push_back(make_tool("test_tool_with_progress", "Tells its progress three times.",
                              no_arguments(), tell_progress));
    tools.push_back(make_tool("test_error_handling", "Fails.", no_arguments(), fail));
    tools.push_back(make_tool(
        "test_missing_capability", "Is for clients that can sample alone.", no_arguments(),
        [](const RequestContext&, const json&) {
            return content(json::array({text_block("The client can sample.")}));
        },
        {"sampling"}));
    return tools;
}

} // namespace berth::conformance
