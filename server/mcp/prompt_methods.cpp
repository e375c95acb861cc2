#include "server/mcp/prompt_methods.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/joined.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"
#include "server/mcp/icons.hpp"
#include "server/mcp/parameters.hpp"
#include "server/mcp/results.hpp"
#include "server/rpc/error.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace berth::mcp {
namespace {

using nlohmann::json;

constexpr std::size_t longest_shown = 128;

[[noreturn]] void refuse(const std::string& what)
{
    throw rpc::ProtocolError(rpc::invalid_params, what);
}

const Prompt& find(const std::vector<Prompt>& prompts, const std::string& name)
{
    const auto found = std::ranges::find(prompts, name, &Prompt::name);
    if (found == prompts.end()) {
        refuse("Unknown prompt: " + visible_beginning(name, longest_shown) + "; there are " +
               joined(prompts, ", ", &Prompt::name));
    }
    return *found;
}

/// What has `name` in an object of params, itself an object with a string "name" or the like.
const json& object_parameter(const json& params, const char* name)
{
    const auto found = params.find(name);
    if (found == params.end() || !found->is_object()) {
        refuse(std::string("completion/complete needs \"") + name + "\", an object");
    }
    return *found;
}

void check_arguments(const Prompt& prompt, const json& arguments)
{
    if (!arguments.is_object() ||
        !std::ranges::all_of(arguments, [](const json& value) { return value.is_string(); })) {
        refuse("\"arguments\" must be an object of strings");
    }
    for (const auto& argument : prompt.arguments) {
        if (argument.required && !arguments.contains(argument.name)) {
            refuse("prompt " + prompt.name + " needs the argument \"" + argument.name + '"');
        }
    }
}

std::optional<Completion> completion_of_prompt(const Prompt& prompt, const std::string& argument,
                                               const std::string& value)
{
    const bool has = std::ranges::any_of(
        prompt.arguments, [&](const PromptArgument& each) { return each.name == argument; });
    if (!has) {
        return std::nullopt;
    }
    return prompt.complete ? prompt.complete(argument, value) : Completion();
}

} // namespace

std::string list_prompts(const std::vector<Prompt>& prompts, const RequestContext& context,
                         const Identity& identity)
{
    require_first_page(context.params());
    json members{{"prompts", json::array()}};
    for (const auto& prompt : prompts) {
        json object{{"name", prompt.name}, {"description", prompt.description}};
        if (!prompt.title.empty()) {
            object["title"] = prompt.title;
        }
        for (const auto& each : prompt.arguments) {
            object["arguments"].push_back({{"name", each.name},
                                           {"description", each.description},
                                           {"required", each.required}});
        }
        put_icons(object, prompt.drawing, context);
        members["prompts"].push_back(std::move(object));
    }
    return result_of(members, context.era(), identity, cached_long);
}

std::string get_prompt(const std::vector<Prompt>& prompts, const RequestContext& context,
                       const Identity& identity)
{
    const auto& params = context.params();
    const auto& prompt = find(prompts, string_parameter(params, "name", "prompts/get"));
    const auto given = params.find("arguments");
    const json arguments = given == params.end() ? json::object() : *given;
    check_arguments(prompt, arguments);
    try {
        return result_of(prompt.get(context, arguments), context.era(), identity);
    } catch (const Error& error) {
        throw method_failure(error);
    }
}

std::string complete(const std::vector<Prompt>& prompts, Resources* resources,
                     const RequestContext& context, const Identity& identity)
{
    constexpr std::string_view method = "completion/complete";
    const auto& ref = object_parameter(context.params(), "ref");
    const auto& asked = object_parameter(context.params(), "argument");
    const auto& argument = string_parameter(asked, "name", method);
    const auto& value = string_parameter(asked, "value", method);
    const auto& type = string_parameter(ref, "type", method);
    std::optional<Completion> found;
    try {
        if (type == "ref/prompt") {
            found = completion_of_prompt(find(prompts, string_parameter(ref, "name", method)),
                                         argument, value);
        } else if (type == "ref/resource" && resources != nullptr) {
            found = resources->complete(string_parameter(ref, "uri", method), argument, value);
        }
    } catch (const Error& error) {
        throw method_failure(error);
    }
    if (!found) {
        refuse("nothing is known of the argument \"" + visible_beginning(argument, longest_shown) +
               "\" there");
    }
    const bool has_more = found->has_more || found->values.size() > Completion::most;
    found->values.resize(std::min(found->values.size(), Completion::most));
    for (auto& each : found->values) {
        each = utf8::sanitize(each);
    }
    json completion{{"values", found->values}, {"hasMore", has_more}};
    if (!has_more) {
        completion["total"] = found->values.size();
    }
    return result_of(json{{"completion", std::move(completion)}}, context.era(), identity);
}

} // namespace berth::mcp
