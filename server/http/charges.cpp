#include "server/http/charges.hpp"

#include "sandbox/base/error.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace berth::server::http {

rpc::ReadLimits limits_in(const transport::HttpRequest& request, rpc::ReadLimits limits)
{
    limits.grows = [room = request.room](std::size_t bytes) {
        if (room && !room->take(bytes)) {
            throw Error(ErrorCode::busy,
                        "the values of this message have no room beside what is in flight",
                        "Send it again when some calls are answered, or in parts.");
        }
    };
    return limits;
}

std::shared_ptr<void> count_others(const Caller& caller, const nlohmann::json& messages)
{
    // Whatever is answered: what is no message is told so, in more bytes than it has.
    const auto is_answered = [](const nlohmann::json& each) {
        return each.contains("id") || !each.is_object() || !each.contains("method");
    };
    const auto requests = static_cast<std::size_t>(std::ranges::count_if(messages, is_answered));
    const auto more = std::max<std::size_t>(requests, 1) - 1;
    std::shared_ptr<void> counted(
        nullptr, [account = caller.account, more](void*) { account->calls -= more; });
    const auto in_flight = caller.account->calls += more;
    if (in_flight > caller.calls) {
        throw Error(ErrorCode::busy,
                    "with the " + std::to_string(requests) + " of this batch more than " +
                        std::to_string(caller.calls) + " requests would be in flight",
                    "Send fewer at once, or this batch again when some are answered.");
    }
    return counted;
}

} // namespace berth::server::http
