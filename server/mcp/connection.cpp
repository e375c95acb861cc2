#include "sandbox/base/request_scope.hpp"
#include "server/mcp/service.hpp"
#include "server/mcp/trace_context.hpp"
#include "server/rpc/error.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace berth::mcp {
namespace {

using nlohmann::json;

[[noreturn]] void unknown_method(const std::string& method)
{
    throw rpc::ProtocolError(rpc::method_not_found, "Method not found: " + method.substr(0, 128));
}

} // namespace

bool has_method(Era era, std::string_view method) noexcept
{
    return method == "tools/call" || method == "tools/list" ||
           (era == Era::modern ? method == "server/discover"
                               : method == "initialize" || method == "ping");
}

void Connection::request(const std::shared_ptr<rpc::Call>& call)
{
    const RequestScope scope(traceparent_of(call->params()));
    const auto& message = call->message();
    // `server/discover` belongs to the modern era only, so without a claim its envelope is what is
    // wrong with it; saying so tells a client more than an unknown method would.
    if (era_of(call->params()) == Era::modern || message.method == "server/discover") {
        modern_request(call);
    } else {
        legacy_request(call);
    }
}

void Connection::modern_request(const std::shared_ptr<rpc::Call>& call)
{
    check_envelope(call->params());
    const auto& method = call->message().method;
    if (method == "tools/call") {
        service_.call(call, Era::modern, repetition_);
    } else if (method == "tools/list") {
        call->reply(service_.list(call->params(), Era::modern));
    } else if (method == "server/discover") {
        call->reply(service_.discover());
    } else {
        unknown_method(method);
    }
}

void Connection::legacy_request(const std::shared_ptr<rpc::Call>& call)
{
    const auto& method = call->message().method;
    if (method == "tools/call") {
        service_.call(call, Era::legacy, repetition_);
    } else if (method == "tools/list") {
        call->reply(service_.list(call->params(), Era::legacy));
    } else if (method == "initialize") {
        call->reply(initialize(call->params()));
    } else if (method == "ping") {
        call->reply("{}");
    } else {
        unknown_method(method);
    }
}

std::string Connection::initialize(const json& params)
{
    const auto requested = params.find("protocolVersion");
    if (requested == params.end() || !requested->is_string()) {
        throw rpc::ProtocolError(rpc::invalid_params,
                                 "initialize needs \"protocolVersion\", a string");
    }
    const auto version = negotiate(requested->get_ref<const std::string&>());
    {
        const std::lock_guard lock(mutex_);
        negotiated_ = version;
    }
    return service_.initialize(version);
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
