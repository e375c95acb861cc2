#include "tools/quota_report.hpp"

#include "tools/render.hpp"

#include <nlohmann/json.hpp>

namespace berth::tools {

std::string quota_text(const std::optional<protocol::QuotaState>& quota)
{
    if (!quota) {
        return {};
    }
    const std::string limit = limit_bytes(quota->limit);
    return (quota->used ? human_bytes(*quota->used) + " of " + limit
                        : "at most " + limit + ", not counted yet") +
           " (session.quota, by berth's own count)";
}

std::string quota_warning(const std::optional<protocol::QuotaState>& quota)
{
    constexpr std::uint64_t tenths = 10;
    if (!quota || !quota->used || *quota->used / (tenths - 1) < quota->limit / tenths) {
        return {};
    }
    return "the home has " + quota_text(quota) +
           ": what would make it larger than that is refused, and a command that does is stopped";
}

void add_quota(nlohmann::json& data, const std::optional<protocol::QuotaState>& quota)
{
    if (!quota) {
        return;
    }
    auto& entry = data["quota"];
    entry = {{"limit_bytes", quota->limit}, {"enforced_by", "accounting"}};
    if (quota->used) {
        entry["used_bytes"] = *quota->used;
    }
}

} // namespace berth::tools
