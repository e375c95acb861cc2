#include "tests/conformance/fixture.hpp"
#include "tests/conformance/requests.hpp"

#include <array>

namespace berth::conformance {
namespace {

using mcp::Outcome;
using mcp::Prompt;
using mcp::RequestContext;

Outcome messages(const std::vector<json>& blocks)
{
    auto list = json::array();
    for (const auto& block : blocks) {
        list.push_back({{"role", "user"}, {"content", block}});
    }
    return Outcome(json{{"messages", list}});
}

mcp::Completion complete(const std::string& /*argument*/, const std::string& value)
{
    constexpr std::array<std::string_view, 5> words{"paris", "park", "party", "test", "testing"};
    mcp::Completion found;
    for (const auto word : words) {
        if (word.starts_with(value)) {
            found.values.emplace_back(word);
        }
    }
    return found;
}

Outcome with_context(const RequestContext& context, const json&)
{
    if (const auto* const said = elicited(context.params(), "user_context", "context")) {
        return messages({text_block("Work with this context: " + said->dump())});
    }
    const json request{{"method", "elicitation/create"},
                       {"params", elicitation("What context should the prompt use?",
                                              {{"context", {{"type", "string"}}}})}};
    return {json{{"inputRequests", {{"user_context", request}}}}, true};
}

Prompt with_arguments()
{
    return {.name = "test_prompt_with_arguments",
            .title = {},
            .description = "Repeats its arguments.",
            .arguments = {{"arg1", "First test argument", true},
                          {"arg2", "Second test argument", true}},
            .get =
                [](const RequestContext&, const json& arguments) {
                    return messages({text_block("Prompt with arguments: arg1='" +
                                                arguments["arg1"].get<std::string>() + "', arg2='" +
                                                arguments["arg2"].get<std::string>() + "'")});
                },
            .complete = complete};
}

Prompt with_resource()
{
    return {.name = "test_prompt_with_embedded_resource",
            .title = {},
            .description = "Has a resource in it.",
            .arguments = {{"resourceUri", "URI of the resource to embed", true}},
            .get = [](const RequestContext&, const json& arguments) {
                return messages({resource_block(arguments["resourceUri"], "text/plain",
                                                "Embedded resource content for testing."),
                                 text_block("Please process the embedded resource above.")});
            }};
}

/// One that always says the same.
Prompt constant_prompt(const std::string& name, const std::string& description,
                       const std::vector<json>& blocks)
{
    return {.name = name,
            .title = {},
            .description = description,
            .get = [blocks](const RequestContext&, const json&) { return messages(blocks); }};
}

} // namespace

std::vector<Prompt> prompts()
{
    return {constant_prompt("test_simple_prompt", "Has no arguments.",
                            {text_block("This is a simple prompt for testing.")}),
            with_arguments(),
            with_resource(),
            constant_prompt("test_prompt_with_image", "Has a picture in it.",
                            {picture_block(), text_block("Please analyze the image above.")}),
            {.name = "test_input_required_result_prompt",
             .title = {},
             .description = "Says what it needs to know first.",
             .get = with_context}};
}

} // namespace berth::conformance
