#include "sandbox/base/request_scope.hpp"
#include "sandbox/base/visible.hpp"
#include "server/mcp/parameters.hpp"
#include "server/mcp/service.hpp"
#include "server/mcp/trace_context.hpp"
#include "server/rpc/error.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace berth::mcp {
namespace {

using nlohmann::json;

struct Method {
    std::string_view name;
    std::optional<Era> only{}; ///< nothing: both have it
};

constexpr std::array methods{
    Method{"completion/complete"},
    Method{"initialize", Era::legacy},
    Method{"logging/setLevel", Era::legacy},
    Method{"ping", Era::legacy},
    Method{"prompts/get"},
    Method{"prompts/list"},
    Method{"resources/list"},
    Method{"resources/read"},
    Method{"resources/subscribe", Era::legacy},
    Method{"resources/templates/list"},
    Method{"resources/unsubscribe", Era::legacy},
    Method{"server/discover", Era::modern},
    Method{"subscriptions/listen", Era::modern},
    Method{"tools/call"},
    Method{"tools/list"},
};

[[noreturn]] void unknown_method(const std::string& method)
{
    throw rpc::ProtocolError(rpc::method_not_found, "Method not found: " + method.substr(0, 128));
}

} // namespace

bool has_method(Era era, std::string_view method) noexcept
{
    const auto* const found = std::ranges::find(methods, method, &Method::name);
    return found != methods.end() && (!found->only || *found->only == era);
}

Connection::Connection(Service& service)
    : service_(service),
      client_({.capabilities = kept_capabilities(json::object()), .log_level = {}})
{
}

void Connection::request(const std::shared_ptr<rpc::Call>& call)
{
    const RequestScope scope(traceparent_of(call->params()));
    const auto& method = call->message().method;
    // `server/discover` belongs to the modern era only, so without a claim its envelope is what is
    // wrong with it; saying so tells a client more than an unknown method would.
    const auto era = method == "server/discover" ? Era::modern : era_of(method, call->params());
    if (era == Era::modern) {
        check_envelope(call->params());
    }
    if (!has_method(era, method) || !service_.offers(method)) {
        unknown_method(method);
    }
    const RequestContext context(call, era, era == Era::modern ? client_of(call) : client());
    if (method == "tools/call") {
        service_.call(context, repetition_);
    } else if (method == "initialize") {
        call->reply(initialize(context.params()));
    } else if (method == "logging/setLevel") {
        call->reply(set_level(context.params()));
    } else if (method == "ping") {
        call->reply("{}");
    } else {
        service_.answer(context);
    }
}

std::string Connection::initialize(const json& params)
{
    const auto version = negotiate(string_parameter(params, "protocolVersion", "initialize"));
    {
        const std::lock_guard lock(mutex_);
        negotiated_ = version;
        client_.capabilities = kept_capabilities(params);
        client_.knows_icons = has_icons(version);
    }
    return service_.initialize(version);
}

std::string Connection::set_level(const json& params)
{
    const auto& name = string_parameter(params, "level", "logging/setLevel");
    const auto level = log_level(name);
    if (!level) {
        throw rpc::ProtocolError(rpc::invalid_params,
                                 "no level of messages: " + visible_beginning(name, 128));
    }
    const std::lock_guard lock(mutex_);
    client_.log_level = level;
    return "{}";
}

Client Connection::client()
{
    const std::lock_guard lock(mutex_);
    return client_;
}

void Connection::notification(const rpc::Message& message, rpc::Dispatcher& dispatcher)
{
    if (message.method != "notifications/cancelled") {
        return; // `initialized` changes nothing here, and what is unknown is ignored
    }
    if (const auto id = message.params->find("requestId"); id != message.params->end()) {
        dispatcher.cancel(rpc::id_from(*id));
    }
}

std::string Connection::refusal(const rpc::Message& message, const Error& why)
{
    if (message.method != "tools/call") {
        return {};
    }
    auto era = era_of(*message.params);
    if (message.partial || message.params->empty()) {
        // Not known: a client that has shaken hands is an older one.
        const std::lock_guard lock(mutex_);
        era = negotiated_.empty() ? Era::modern : Era::legacy;
    }
    const auto name = message.params->find("name");
    return service_.refusal(why, era,
                            name != message.params->end() && name->is_string()
                                ? name->get_ref<const std::string&>()
                                : std::string());
}

bool Connection::accepts_batch(const json& messages)
{
    {
        const std::lock_guard lock(mutex_);
        if (negotiated_ != batch_version) {
            return false;
        }
    }
    return std::all_of(messages.begin(), messages.end(), [](const json& message) {
        if (!message.is_object()) {
            return true; // answered one by one
        }
        const auto params = message.find("params");
        return message.value("method", json()) != "initialize" &&
               (params == message.end() || era_of(*params) == Era::legacy);
    });
}

} // namespace berth::mcp
