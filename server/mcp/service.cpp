#include "server/mcp/service.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"
#include "server/mcp/icons.hpp"
#include "server/mcp/parameters.hpp"
#include "server/mcp/prompt_methods.hpp"
#include "server/mcp/resource_methods.hpp"
#include "server/mcp/results.hpp"
#include "server/mcp/subscription_methods.hpp"
#include "server/rpc/error.hpp"
#include "server/rpc/json_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace berth::mcp {
namespace {

using nlohmann::json;

/// They change with the settings, or when a sandbox can be made at last.
std::int64_t time_to_keep_tools(bool lasting)
{
    return lasting ? cached_for_a_minute : cached_briefly;
}

/// What a client shows of the instructions, in characters.
constexpr std::size_t instructions_limit = 4095;

std::string server_info(const Identity& identity, std::string_view protocol)
{
    std::string text = R"({"name":"berth","title":"berth","version":)";
    rpc::append_quoted(text, identity.version);
    if (has_icons(protocol)) {
        text += R"(,"icons":)" + rpc::to_text(icons_of("berth"));
    }
    return text + '}';
}

/// Whether the answer tells of the workspace or the session; of prompts none does.
bool reads(const json& params, std::string_view method)
{
    if (method == "completion/complete") {
        const auto ref = params.find("ref");
        return ref != params.end() && ref->is_object() &&
               ref->value("type", json()) == "ref/resource";
    }
    return method == "resources/list" || method == "resources/read";
}

/// The word for what went wrong, where the error brings one.
std::string outcome_of(const rpc::ProtocolError& error)
{
    const auto data = json::parse(error.data(), nullptr, false);
    const auto code = data.is_object() ? data.find("code") : data.end();
    return data.is_object() && code != data.end() && code->is_string()
               ? code->get<std::string>()
               : std::string(to_string(ErrorCode::invalid_argument));
}

} // namespace

Service::Service(Configuration configuration)
    : configuration_(std::move(configuration)), heartbeat_(configuration_.progress_interval)
{
    const auto add = [this](std::string_view name, std::string_view schema) {
        if (schema.find("x-mcp-header") != schema.npos) { // else it is not worth being read
            header_arguments_[std::string(name)] = header_arguments_of(json::parse(schema));
        }
    };
    for (const auto* tool : configuration_.catalog.served) {
        add(tool->name, tool->input_schema);
    }
    for (const auto& tool : configuration_.protocol_tools) {
        add(tool.name, json::parse(tool.definition).at("inputSchema").dump());
    }
    const auto& resources = configuration_.resources;
    completes_ = (resources && !resources->templates().empty()) ||
                 std::ranges::any_of(configuration_.prompts, [](const Prompt& prompt) {
                     return !prompt.arguments.empty();
                 });
}

/// Made each time: what a session is like changes with its machine, while its server goes on.
std::string Service::instructions()
{
    const auto text = utf8::sanitize(configuration_.instructions());
    std::string quoted;
    rpc::append_quoted(quoted, utf8::prefix_bytes(text, instructions_limit));
    return quoted;
}

Service::Text Service::tools_text(bool with_icons)
{
    const auto settings = configuration_.settings();
    const std::lock_guard lock(mutex_);
    auto& kept = tools_texts_.at(with_icons ? 1 : 0);
    if (kept.made_by && kept.made_by == settings) {
        return {kept.json, true};
    }
    // Asked first: a text that was made before the answer could be the one of a moment ago.
    const bool lasting = configuration_.lasting();
    auto text = list_tools(configuration_.catalog, *settings, configuration_.describe, with_icons);
    for (const auto& tool : configuration_.protocol_tools) {
        text.insert(text.size() - 1, (text.size() > 2 ? "," : "") + tool.definition);
    }
    kept = {text, lasting ? settings : nullptr};
    return {std::move(text), lasting};
}

bool Service::offers(std::string_view method) const noexcept
{
    if (method.ends_with("subscribe")) {
        return configuration_.subscribe != nullptr;
    }
    if (method.starts_with("resources/")) {
        return configuration_.resources != nullptr;
    }
    if (method.starts_with("prompts/")) {
        return !configuration_.prompts.empty();
    }
    return method != "completion/complete" || completes_;
}

std::string Service::capabilities(Era era) const
{
    std::string text = R"({"tools":{},"logging":{})";
    if (offers("resources/list")) {
        // In 2026-07-28 it would mean a stream that tells of changes.
        const bool subscribes = era == Era::legacy && offers("resources/subscribe");
        text += subscribes ? R"(,"resources":{"subscribe":true})" : R"(,"resources":{})";
    }
    text += offers("prompts/list") ? R"(,"prompts":{})" : "";
    text += offers("completion/complete") ? R"(,"completions":{})" : "";
    return text + '}';
}

std::string Service::discover()
{
    // Here alone with all that there is to say of the server; other results have name and version.
    std::string text = R"({"resultType":"complete","_meta":{")" + std::string(server_info_key) +
                       "\":" + server_info(configuration_.identity, modern_version) +
                       R"(},"supportedVersions":[")";
    text += modern_version;
    text += R"("],"capabilities":)" + capabilities(Era::modern) + R"(,"instructions":)" +
            instructions();
    return text + cache_members(Era::modern, cached_briefly) + '}';
}

std::string Service::initialize(const std::string& version)
{
    return R"({"protocolVersion":")" + version + R"(","capabilities":)" +
           capabilities(Era::legacy) + R"(,"serverInfo":)" +
           server_info(configuration_.identity, version) + R"(,"instructions":)" + instructions() +
           '}';
}

std::string Service::list(const json& params, Era era, bool with_icons)
{
    require_first_page(params);
    std::string text = begin_result(era, configuration_.identity);
    const auto tools = tools_text(with_icons);
    text += R"(},"tools":)" + tools.json;
    return text + cache_members(era, time_to_keep_tools(tools.lasting)) + '}';
}

void Service::answer(const RequestContext& context)
{
    const auto& method = context.call()->message().method;
    if (configuration_.begin_read && reads(context.params(), method)) {
        answer_told(context);
    } else {
        context.call()->reply(result_for(context));
    }
}

/// After the answer: whoever keeps account of it costs nobody time.
void Service::answer_told(const RequestContext& context)
{
    const auto started = std::chrono::steady_clock::now();
    const auto end = configuration_.begin_read();
    const auto& call = *context.call();
    std::string outcome = "ok";
    try {
        if (!context.call()->reply(result_for(context))) { // what was read has left for nobody
            outcome = to_string(ErrorCode::cancelled);
        }
    } catch (const rpc::ProtocolError& error) {
        outcome = outcome_of(error);
        context.call()->fail(error);
    } catch (const std::exception& error) {
        outcome = to_string(ErrorCode::internal);
        context.call()->fail(rpc::ProtocolError(rpc::internal_error, error.what()));
    }
    const auto uri = call.params().find("uri");
    const bool is_named =
        call.message().method == "resources/read" && uri != call.params().end() && uri->is_string();
    end({.method = call.message().method,
         .uri = is_named ? std::string_view(uri->get_ref<const std::string&>()) : "",
         .outcome = outcome,
         .duration = std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now() - started)});
}

std::string Service::result_for(const RequestContext& context)
{
    const auto& method = context.call()->message().method;
    const auto& identity = configuration_.identity;
    if (method == "tools/list") {
        return list(context.params(), context.era(), context.client().knows_icons);
    }
    if (method == "server/discover") {
        return discover();
    }
    if (method == "subscriptions/listen") {
        return listen_in_vain(context, identity);
    }
    if (method == "prompts/list") {
        return list_prompts(configuration_.prompts, context, identity);
    }
    if (method == "prompts/get") {
        return get_prompt(configuration_.prompts, context, identity);
    }
    if (method == "completion/complete") {
        return complete(configuration_.prompts, configuration_.resources.get(), context, identity);
    }
    if (method.ends_with("subscribe")) {
        return subscribe(context, method == "resources/subscribe");
    }
    auto& resources = *configuration_.resources;
    return method == "resources/list"   ? list_resources(resources, context, identity)
           : method == "resources/read" ? read_resource(resources, context, identity)
                                        : list_templates(resources, context, identity);
}

std::string Service::subscribe(const RequestContext& context, bool wanted)
{
    const auto* const method = wanted ? "resources/subscribe" : "resources/unsubscribe";
    configuration_.subscribe(string_parameter(context.params(), "uri", method), wanted);
    return "{}";
}

} // namespace berth::mcp
