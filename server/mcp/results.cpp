#include "server/mcp/results.hpp"

#include "sandbox/base/error.hpp"
#include "server/rpc/json_text.hpp"

#include <nlohmann/json.hpp>

#include <string_view>

namespace berth::mcp {
namespace {

using nlohmann::json;

std::string with_members(std::string begun, const json& members)
{
    begun += '}';
    if (!members.empty()) {
        begun += ',';
        begun += std::string_view(rpc::to_text(members)).substr(1);
        return begun;
    }
    return begun + '}';
}

} // namespace

Outcome::Outcome(const json& given, bool needs)
    : members(std::make_unique<json>(given)), needs_input(needs)
{
}

Outcome::Outcome(Outcome&&) noexcept = default;
Outcome& Outcome::operator=(Outcome&&) noexcept = default;
Outcome::~Outcome() = default;

std::string cache_members(Era era, std::int64_t milliseconds)
{
    return era == Era::legacy
               ? std::string()
               : R"(,"ttlMs":)" + std::to_string(milliseconds) + R"(,"cacheScope":"private")";
}

std::string result_of(const json& members, Era era, const Identity& identity,
                      std::optional<std::int64_t> cached)
{
    auto text = with_members(begin_result(era, identity), members);
    if (cached) {
        text.insert(text.size() - 1, cache_members(era, *cached));
    }
    return text;
}

std::string result_of(const Outcome& outcome, Era era, const Identity& identity)
{
    if (outcome.needs_input && era == Era::legacy) {
        throw Error(ErrorCode::unsupported,
                    "more must be known first, which this revision cannot say");
    }
    const auto* const type = outcome.needs_input ? "input_required" : "complete";
    return with_members(begin_result(era, identity, type), *outcome.members);
}

} // namespace berth::mcp
