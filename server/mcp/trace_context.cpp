#include "server/mcp/trace_context.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>

namespace berth::mcp {
namespace {

using nlohmann::json;

constexpr const char* key = "traceparent";
/// version-trace_id-parent_id-flags.
constexpr std::size_t size_of_00 = 55;
constexpr std::size_t longest = 128;

bool is_hex(std::string_view text) noexcept
{
    return std::ranges::all_of(
        text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_zero(std::string_view text) noexcept
{
    return text.find_first_not_of('0') == std::string_view::npos;
}

/// Of a version that is not known yet nobody can say what follows, but that it needs no quotes.
bool is_plain(std::string_view text) noexcept
{
    return std::ranges::all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '-' || c == '_' || c == '.';
    });
}

} // namespace

bool is_traceparent(std::string_view text) noexcept
{
    if (text.size() < size_of_00 || text.size() > longest || text[2] != '-' || text[35] != '-' ||
        text[52] != '-') {
        return false;
    }
    const auto version = text.substr(0, 2);
    const auto trace = text.substr(3, 32);
    const auto parent = text.substr(36, 16);
    const auto rest = text.substr(size_of_00);
    return is_hex(version) && version != "ff" && is_hex(trace) && !is_zero(trace) &&
           is_hex(parent) && !is_zero(parent) && is_hex(text.substr(53, 2)) &&
           (rest.empty() || (version != "00" && rest.starts_with('-') && is_plain(rest)));
}

std::string traceparent_of(const json& params)
{
    const auto meta = params.find("_meta");
    if (meta == params.end() || !meta->is_object()) {
        return {};
    }
    const auto found = meta->find(key);
    return found != meta->end() && found->is_string() &&
                   is_traceparent(found->get_ref<const std::string&>())
               ? found->get<std::string>()
               : std::string();
}

void add_traceparent(json& params, const std::string& traceparent)
{
    if (!is_traceparent(traceparent) || !traceparent_of(params).empty()) {
        return;
    }
    auto& meta = params["_meta"];
    if (meta.is_null() || meta.is_object()) { // else it is wrong, and told by who looks at it
        meta[key] = traceparent;
    }
}

} // namespace berth::mcp
