#include "tools/quota_report.hpp"

#include "tools/render.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace berth::tools {

std::string quota_text(const std::optional<protocol::QuotaState>& quota)
{
    if (!quota) {
        return {};
    }
    const std::string limit = limit_bytes(quota->limit);
    return (quota->used ? human_bytes(*quota->used) + " of " + limit
                        : "at most " + limit + ", not counted yet") +
           (quota->by_kernel ? " (session.quota, kept by the kernel)"
                             : " (session.quota, by berth's own count)");
}

std::string quota_warning(const std::optional<protocol::QuotaState>& quota)
{
    constexpr std::uint64_t tenths = 10;
    if (!quota || !quota->used || *quota->used / (tenths - 1) < quota->limit / tenths) {
        return {};
    }
    return "the home has " + quota_text(quota) +
           (quota->by_kernel
                ? ": what would make it larger than that fails with \"Disk quota exceeded\", or "
                  "\"No space left on device\""
                : ": what would make it larger than that is refused, and a command that does is "
                  "stopped");
}

std::string quota_met(const std::optional<protocol::QuotaState>& quota,
                      std::initializer_list<std::string_view> printed)
{
    // Of glibc; what a program says in another language is told by quota_warning() at least.
    constexpr std::string_view words = "Disk quota exceeded";
    const bool met = std::ranges::any_of(
        printed, [&](std::string_view text) { return text.find(words) != std::string_view::npos; });
    if (!quota || !quota->by_kernel || !met) {
        return {};
    }
    // It may be a mount's own limit, or what a manual says, where the home has room.
    constexpr std::uint64_t tenths = 10;
    const bool is_full = !quota->used || *quota->used / (tenths - 1) >= quota->limit / tenths;
    return "\"" + std::string(words) +
           (is_full ? "\" is the limit of the home, which has "
                    : "\" may be the limit of the home, which now has ") +
           quota_text(quota) +
           ". Nothing was deleted. /tmp does not count; `du -xh -d 2 ~ | sort -h | tail` shows "
           "what "
           "is large";
}

void add_quota(nlohmann::json& data, const std::optional<protocol::QuotaState>& quota)
{
    if (!quota) {
        return;
    }
    auto& entry = data["quota"];
    entry = {{"limit_bytes", quota->limit},
             {"enforced_by", quota->by_kernel ? "kernel" : "accounting"}};
    if (quota->used) {
        entry["used_bytes"] = *quota->used;
    }
}

} // namespace berth::tools
