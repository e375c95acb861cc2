#include "server/http/page_rules.hpp"

#include "sandbox/base/small_letters.hpp"
#include "sandbox/base/split.hpp"

namespace berth::server::http {
namespace {

constexpr std::string_view asked_method = "access-control-request-method";
constexpr std::string_view asked_headers = "access-control-request-headers";

/// What clients of both eras send. Authorization is never meant by `*`.
constexpr std::string_view headers =
    "authorization, content-type, accept, berth-session, last-event-id, mcp-protocol-version, "
    "mcp-session-id, mcp-method, mcp-name, traceparent, tracestate";

/// Mcp-Param-NAME, of which tools say the names: of what was asked for the part that is clearly
/// such, since it is said again.
std::string parameter_headers(const transport::HttpHead& head)
{
    constexpr std::string_view begin = "mcp-param-";
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    constexpr std::size_t longest = 64;
    const auto* const asked = head.find(asked_headers);
    std::string named;
    if (asked == nullptr) {
        return named;
    }
    const auto small = in_small_letters(*asked);
    for (auto each : split(small, ',')) {
        each.remove_prefix(std::min(each.find_first_not_of(' '), each.size()));
        if (each.starts_with(begin) && each.size() <= longest &&
            each.find_first_not_of(letters) == std::string_view::npos) {
            named.append(", ").append(each);
        }
    }
    return named;
}

} // namespace

bool is_preflight(const transport::HttpHead& head)
{
    return head.method == "OPTIONS" && head.find(asked_method) != nullptr;
}

transport::HttpAnswer answer_preflight(const transport::HttpHead& head, std::string_view methods)
{
    return {
        .status = 204,
        .fields = {{"Access-Control-Allow-Methods", std::string(methods)},
                   {"Access-Control-Allow-Headers", std::string(headers) + parameter_headers(head)},
                   {"Access-Control-Max-Age", "600"}}};
}

std::vector<std::pair<std::string, std::string>> page_fields(const std::string& origin)
{
    // Whoever keeps an answer must not show it to a page of another origin.
    std::vector<std::pair<std::string, std::string>> fields{{"Vary", "Origin"}};
    if (!origin.empty()) {
        fields.emplace_back("Access-Control-Allow-Origin", origin);
        fields.emplace_back("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate");
    }
    return fields;
}

} // namespace berth::server::http
