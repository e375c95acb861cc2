#include "server/http/call_counts.hpp"

#include "sandbox/base/error.hpp"
#include "tools/tool.hpp"

#include <algorithm>
#include <string>

namespace berth::server::http {
namespace {

constexpr auto last_error = static_cast<std::size_t>(ErrorCode::internal);

/// 0: ok.
std::size_t index_of(std::string_view outcome) noexcept
{
    const auto code = error_code_from(outcome);
    return code ? static_cast<std::size_t>(*code) + 1 : 0;
}

std::string_view outcome_at(std::size_t index) noexcept
{
    return index == 0 ? "ok" : to_string(static_cast<ErrorCode>(index - 1));
}

} // namespace

CallCounts::CallCounts() : tools_(tools::all_tools().size())
{
    static_assert(outcomes == last_error + 2);
}

void CallCounts::add(std::string_view tool, std::string_view outcome,
                     std::chrono::microseconds duration) noexcept
{
    const auto* const found = tools::find_tool(tool);
    const auto index = index_of(outcome);
    if (found == nullptr || outcome_at(index) != outcome) {
        return;
    }
    auto& counts = tools_[static_cast<std::size_t>(found - tools::all_tools().data())];
    const double seconds = std::chrono::duration<double>(duration).count();
    const auto bucket = std::lower_bound(buckets.begin(), buckets.end(), seconds) - buckets.begin();
    counts.ended.at(index).fetch_add(1, std::memory_order_relaxed);
    counts.within.at(static_cast<std::size_t>(bucket)).fetch_add(1, std::memory_order_relaxed);
    counts.microseconds.fetch_add(
        static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0)),
        std::memory_order_relaxed);
}

void CallCounts::write(MetricText& text) const
{
    const auto& names = tools::all_tools();
    text.family("berth_calls_total", "counter", "Calls of tools that have ended, by how.");
    for (std::size_t i = 0; i < tools_.size(); ++i) {
        for (std::size_t outcome = 0; outcome < outcomes; ++outcome) {
            const auto count = tools_[i].ended.at(outcome).load(std::memory_order_relaxed);
            if (count > 0 || outcome == 0) {
                text.sample("berth_calls_total",
                            {{"tool", names[i].name}, {"outcome", outcome_at(outcome)}}, count);
            }
        }
    }
    constexpr std::string_view duration = "berth_call_duration_seconds";
    const std::string base(duration);
    text.family(duration, "histogram", "Time from the start of a call's work to its answer.");
    for (std::size_t i = 0; i < tools_.size(); ++i) {
        std::uint64_t count = 0;
        for (std::size_t bucket = 0; bucket <= buckets.size(); ++bucket) {
            count += tools_[i].within.at(bucket).load(std::memory_order_relaxed);
            const auto end = bucket < buckets.size() ? metric_number(buckets.at(bucket)) : "+Inf";
            text.sample(base + "_bucket", {{"tool", names[i].name}, {"le", end}}, count);
        }
        const auto sum = tools_[i].microseconds.load(std::memory_order_relaxed);
        text.sample(base + "_sum", {{"tool", names[i].name}}, static_cast<double>(sum) / 1e6);
        text.sample(base + "_count", {{"tool", names[i].name}}, count);
    }
}

} // namespace berth::server::http
