#include "server/mcp/subscription_methods.hpp"

#include "server/rpc/error.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace berth::mcp {
namespace {

using nlohmann::json;

constexpr std::string_view id_key = "io.modelcontextprotocol/subscriptionId";

/// What it wants to hear of; kinds that are not known are left to later revisions.
void check_filter(const json& params)
{
    const auto wanted = params.find("notifications");
    bool good = wanted != params.end() && wanted->is_object();
    if (good) {
        for (const auto* const name :
             {"toolsListChanged", "promptsListChanged", "resourcesListChanged"}) {
            good = good && (!wanted->contains(name) || wanted->at(name).is_boolean());
        }
        const auto files = wanted->find("resourceSubscriptions");
        good = good && (files == wanted->end() ||
                        (files->is_array() && std::ranges::all_of(*files, [](const json& uri) {
                             return uri.is_string();
                         })));
    }
    if (!good) {
        throw rpc::ProtocolError(rpc::invalid_params,
                                 "subscriptions/listen needs \"notifications\", an object of what "
                                 "to tell of");
    }
}

} // namespace

std::string listen_in_vain(const RequestContext& context, const Identity& identity)
{
    check_filter(context.params());
    const auto& id = context.call()->message().id; // as JSON text
    const auto named = '"' + std::string(id_key) + "\":" + id;
    if (!context.call()->notify("notifications/subscriptions/acknowledged",
                                R"({"_meta":{)" + named + R"(},"notifications":{}})")) {
        // It comes before all else of a subscription, or there is none.
        throw rpc::ProtocolError(rpc::internal_error,
                                 "the client does not read what subscriptions/listen has to say "
                                 "first");
    }
    return begin_result(Era::modern, identity) + ',' + named + "}}";
}

} // namespace berth::mcp
