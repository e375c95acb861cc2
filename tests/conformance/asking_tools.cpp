#include "tests/conformance/fixture.hpp"

namespace berth::conformance {
namespace {

using mcp::Outcome;
using mcp::ProtocolTool;
using mcp::RequestContext;

json one_string(const std::string& name)
{
    return {{"type", "object"},
            {"properties", {{name, {{"type", "string"}}}}},
            {"required", json::array({name})}};
}

Outcome sample(const RequestContext& context, const json& arguments)
{
    const json message{{"role", "user"}, {"content", text_block(arguments.value("prompt", ""))}};
    const auto said = context.ask("sampling/createMessage",
                                  {{"messages", json::array({message})}, {"maxTokens", 100}});
    return content(json::array(
        {text_block("LLM response: " + said.at("content").value("text", std::string()))}));
}

Outcome elicit(const RequestContext& context, const json& request, const std::string& before)
{
    const auto said = context.ask("elicitation/create", request);
    const auto given = said.find("content");
    return content(
        json::array({text_block(before + "action=" + said.value("action", std::string()) +
                                ", content=" + (given == said.end() ? "{}" : given->dump()))}));
}

Outcome elicit_user(const RequestContext& context, const json& arguments)
{
    const json properties{{"username", {{"type", "string"}, {"description", "User's response"}}},
                          {"email", {{"type", "string"}, {"description", "User's email address"}}}};
    return elicit(context, elicitation(arguments.value("message", ""), properties),
                  "User response: ");
}

/// Every type of value with a default.
json with_defaults()
{
    return json::parse(R"({
      "name": {"type": "string", "default": "John Doe"},
      "age": {"type": "integer", "default": 30},
      "score": {"type": "number", "default": 95.5},
      "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
      "verified": {"type": "boolean", "default": true}})");
}

/// Every form of a choice.
json choices()
{
    return json::parse(R"({
      "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
      "titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First Option"},
        {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"}]},
      "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"]},
      "untitledMulti": {"type": "array",
        "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
      "titledMulti": {"type": "array", "items": {"anyOf": [
        {"const": "value1", "title": "First Choice"}, {"const": "value2", "title": "Second Choice"},
        {"const": "value3", "title": "Third Choice"}]}}})");
}

ProtocolTool eliciting(const std::string& name, const std::string& description,
                       const json& properties)
{
    return make_tool(name, description, no_arguments(),
                     [properties](const RequestContext& context, const json&) {
                         return elicit(context, elicitation("Please fill this in", properties),
                                       "Elicitation completed: ");
                     },
                     {"elicitation"});
}

} // namespace

std::vector<ProtocolTool> asking_tools()
{
    std::vector<ProtocolTool> tools;
    tools.push_back(make_tool("test_sampling", "Asks the client's model.", one_string("prompt"),
                              sample, {"sampling"}));
    tools.push_back(make_tool("test_elicitation", "Asks the user.", one_string("message"),
                              elicit_user, {"elicitation"}));
    tools.push_back(eliciting("test_elicitation_sep1034_defaults",
                              "Asks the user, with a default for everything.", with_defaults()));
    tools.push_back(eliciting("test_elicitation_sep1330_enums",
                              "Asks the user to choose, in every form.", choices()));
    return tools;
}

} // namespace berth::conformance
