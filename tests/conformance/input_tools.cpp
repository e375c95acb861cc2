#include "tests/conformance/fixture.hpp"
#include "tests/conformance/requests.hpp"

#include <utility>

namespace berth::conformance {
namespace {

using mcp::Outcome;
using mcp::ProtocolTool;
using mcp::RequestContext;

json string_property(const std::string& name)
{
    return {{name, {{"type", "string"}}}};
}

json elicit_request(const std::string& message, const json& properties)
{
    return {{"method", "elicitation/create"}, {"params", elicitation(message, properties)}};
}

json sample_request(const std::string& text)
{
    const json message{{"role", "user"}, {"content", text_block(text)}};
    return {{"method", "sampling/createMessage"},
            {"params", {{"messages", json::array({message})}, {"maxTokens", 100}}}};
}

json roots_request()
{
    return {{"method", "roots/list"}, {"params", json::object()}};
}

Outcome asks(const json& requests, const std::string& state = {})
{
    json members{{"inputRequests", requests}};
    if (!state.empty()) {
        members["requestState"] = sealed(state);
    }
    return {members, true};
}

Outcome says(const std::string& text)
{
    return content(json::array({text_block(text)}));
}

Outcome ask_name(const RequestContext& context, const json&)
{
    if (const auto* const name = elicited(context.params(), "user_name", "name")) {
        return says("Hello, " + name->dump() + '!');
    }
    return asks({{"user_name", elicit_request("What is your name?", string_property("name"))}});
}

Outcome ask_model(const RequestContext& context, const json&)
{
    if (const auto* const said = answer_to(context.params(), "capital_question")) {
        return says(said->value("content", json()).dump());
    }
    return asks({{"capital_question", sample_request("What is the capital of France?")}});
}

Outcome ask_roots(const RequestContext& context, const json&)
{
    if (const auto* const said = answer_to(context.params(), "client_roots")) {
        return says(said->value("roots", json()).dump());
    }
    return asks({{"client_roots", roots_request()}});
}

Outcome ask_with_state(const RequestContext& context, const json&)
{
    const auto state = state_of(context.params());
    if (state == "confirming" && elicited(context.params(), "confirm", "ok") != nullptr) {
        return says("state-ok");
    }
    return asks({{"confirm", elicit_request("Please confirm", {{"ok", {{"type", "boolean"}}}})}},
                "confirming");
}

Outcome ask_all(const RequestContext& context, const json&)
{
    const auto& params = context.params();
    const auto state = state_of(params);
    const auto* const name = elicited(params, "user_name", "name");
    const auto* const greeting = answer_to(params, "greeting");
    const auto* const roots = answer_to(params, "client_roots");
    if (state == "asked" && name != nullptr && greeting != nullptr && roots != nullptr) {
        return says("all three answers came");
    }
    return asks({{"user_name", elicit_request("What is your name?", string_property("name"))},
                 {"greeting", sample_request("Generate a greeting")},
                 {"client_roots", roots_request()}},
                "asked");
}

Outcome ask_twice(const RequestContext& context, const json&)
{
    const auto& params = context.params();
    const auto state = state_of(params);
    if (state == "second" && elicited(params, "step2", "color") != nullptr) {
        return says("both answers came");
    }
    if (state == "second" || (state == "first" && elicited(params, "step1", "name") != nullptr)) {
        return asks({{"step2", elicit_request("Step 2: What is your favorite color?",
                                              string_property("color"))}},
                    "second");
    }
    return asks({{"step1", elicit_request("Step 1: What is your name?", string_property("name"))}},
                "first");
}

/// Asks for what the client can.
Outcome ask_what_it_can(const RequestContext& context, const json&)
{
    json requests = json::object();
    if (context.can("elicitation") && elicited(context.params(), "user_name", "name") == nullptr) {
        requests["user_name"] = elicit_request("What is your name?", string_property("name"));
    }
    if (context.can("sampling") && answer_to(context.params(), "greeting") == nullptr) {
        requests["greeting"] = sample_request("Generate a greeting");
    }
    return requests.empty() ? says("nothing is left to ask") : asks(requests);
}

ProtocolTool input_tool(const std::string& name,
                        Outcome (*call)(const RequestContext&, const json&),
                        std::vector<std::string> needs)
{
    return make_tool("test_input_required_result_" + name, "Says what it needs to know first.",
                     no_arguments(), call, std::move(needs));
}

} // namespace

std::vector<ProtocolTool> input_tools()
{
    std::vector<ProtocolTool> tools;
    tools.push_back(input_tool("elicitation", ask_name, {"elicitation"}));
    tools.push_back(input_tool("sampling", ask_model, {"sampling"}));
    tools.push_back(input_tool("list_roots", ask_roots, {"roots"}));
    tools.push_back(input_tool("request_state", ask_with_state, {"elicitation"}));
    tools.push_back(input_tool("tampered_state", ask_with_state, {"elicitation"}));
    tools.push_back(input_tool("multiple_inputs", ask_all, {"elicitation", "sampling", "roots"}));
    tools.push_back(input_tool("multi_round", ask_twice, {"elicitation"}));
    tools.push_back(input_tool("capabilities", ask_what_it_can, {}));
    tools.push_back(make_tool("test_streaming_elicitation", "Says what it needs to know first.",
                              no_arguments(), ask_name, {"elicitation"}));
    return tools;
}

} // namespace berth::conformance
