#include "server/mcp/request_context.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"
#include "server/rpc/error.hpp"
#include "server/rpc/json_text.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <utility>

namespace berth::mcp {
namespace {

using nlohmann::json;

constexpr const char* log_level_key = "io.modelcontextprotocol/logLevel";
/// A person may have to answer.
constexpr std::chrono::minutes patience{5};
/// So that a message fits into a pipe at once, even if each byte of it is escaped.
constexpr std::size_t longest_message = 600;

} // namespace

Client client_of(const std::shared_ptr<rpc::Call>& call)
{
    const auto& meta = call->params().at("_meta");
    // Not copied: it lives in the call.
    Client client{.capabilities = {call, &meta.at(capabilities_key)},
                  .log_level = {},
                  .knows_icons = has_icons(modern_version)};
    if (const auto level = meta.find(log_level_key); level != meta.end()) {
        client.log_level =
            level->is_string() ? log_level(level->get_ref<const std::string&>()) : std::nullopt;
        if (!client.log_level) {
            throw rpc::ProtocolError(rpc::invalid_params, std::string("_meta[\"") + log_level_key +
                                                              "\"] is no level of messages");
        }
    }
    return client;
}

std::shared_ptr<const json> kept_capabilities(const json& params)
{
    json kept = json::object();
    const auto said = params.find("capabilities");
    for (const auto* const name : {"elicitation", "roots", "sampling"}) {
        if (said != params.end() && said->is_object() && said->contains(name)) {
            kept[name] = json::object();
        }
    }
    return std::make_shared<const json>(std::move(kept));
}

void require_capability(const json& capabilities, std::string_view name)
{
    if (!capabilities.contains(name)) {
        const json data{{"requiredCapabilities", {{name, json::object()}}}};
        throw rpc::ProtocolError(missing_client_capability,
                                 "the client does not declare the capability " + std::string(name),
                                 data.dump());
    }
}

std::string progress_token(const json& params)
{
    constexpr std::size_t longest = 1024;
    const auto meta = params.find("_meta");
    if (meta == params.end() || !meta->is_object()) {
        return {};
    }
    const auto token = meta->find("progressToken");
    auto text = token == meta->end() ? std::string() : rpc::id_from(*token);
    return text.size() > longest ? std::string() : text;
}

RequestContext::RequestContext(std::shared_ptr<rpc::Call> call, Era era, Client client)
    : call_(std::move(call)), era_(era), client_(std::move(client))
{
}

bool RequestContext::can(std::string_view capability) const
{
    return client_.capabilities->contains(capability);
}

void RequestContext::log(LogLevel level, std::string_view logger, const std::string& data) const
{
    if (!client_.log_level || level < *client_.log_level) {
        return;
    }
    std::string params = R"({"level":")";
    params += to_string(level);
    params += R"(","logger":)";
    rpc::append_quoted(params, logger);
    params += R"(,"data":)";
    rpc::append_quoted(params, utf8::prefix_bytes(utf8::sanitize(data), longest_message));
    call_->notify("notifications/message", params + '}');
}

void RequestContext::progress(double done, double total) const
{
    if (const auto token = progress_token(params()); !token.empty()) {
        call_->notify("notifications/progress", R"({"progressToken":)" + token + R"(,"progress":)" +
                                                    json(done).dump() + R"(,"total":)" +
                                                    json(total).dump() + '}');
    }
}

json RequestContext::ask(const std::string& method, const json& params) const
{
    if (era_ == Era::modern) {
        throw Error(ErrorCode::unsupported, "a client of this revision cannot be asked meanwhile");
    }
    return call_->ask(method, rpc::to_text(params), patience);
}

} // namespace berth::mcp
