#include "server/http/host_rules.hpp"

#include "sandbox/base/small_letters.hpp"

#include <algorithm>

namespace berth::server::http {
namespace {

/// "[::1]:80" and "localhost:80" without their port, which is digits: "localhost:x/evil" is no name
/// of ours, whatever another reader of it takes for the host.
std::string_view without_port(std::string_view host)
{
    const auto digits = host.find_last_not_of("0123456789");
    return digits != std::string_view::npos && host[digits] == ':' ? host.substr(0, digits) : host;
}

/// Nothing but digits behind the name, or nothing.
bool has_plain_port(std::string_view host)
{
    constexpr std::size_t longest = 6; // ":65535"
    const auto port = host.substr(without_port(host).size());
    return port.size() <= longest &&
           port.find_first_not_of("0123456789", 1) == std::string_view::npos && port != ":";
}

} // namespace

HostRules::HostRules(const HttpOptions& options, const std::string& own)
    : any_host_(options.hosts.empty() && (options.behind_proxy || !options.unix_path.empty())),
      no_auth_(options.no_auth),
      hosts_({"localhost", "127.0.0.1", "[::1]",
              own.find(':') == std::string::npos ? own : '[' + own + ']'})
{
    for (const auto& host : options.hosts) {
        hosts_.push_back(in_small_letters(host));
    }
    for (const auto& origin : options.origins) {
        origins_.push_back(in_small_letters(origin));
    }
}

bool HostRules::knows(std::string_view host) const
{
    return std::ranges::find(hosts_, in_small_letters(without_port(host))) != hosts_.end();
}

std::string HostRules::refusal(const transport::HttpHead& head) const
{
    const auto* const host = head.find("host");
    if (!any_host_ && host != nullptr && !knows(*host)) {
        return "the Host of the request is none of this server's; http_hosts names others";
    }
    return head.find("origin") == nullptr || !origin_of(head).empty()
               ? ""
               : "the Origin of the request may not call; http_origins names those that may";
}

std::string HostRules::origin_of(const transport::HttpHead& head) const
{
    const auto* const origin = head.find("origin");
    if (origin == nullptr) {
        return {};
    }
    auto small = in_small_letters(*origin);
    if (std::ranges::find(origins_, small) != origins_.end()) {
        return small;
    }
    for (const std::string_view scheme : {"http://", "https://"}) {
        const auto host = std::string_view(small).substr(std::min(scheme.size(), small.size()));
        // Of this host's own names alone: where any host is let through, an origin is not.
        if (small.starts_with(scheme) && knows(host) && has_plain_port(host)) {
            return small;
        }
    }
    return {};
}

std::string HostRules::page_origin(const transport::HttpHead& head) const
{
    auto origin = origin_of(head);
    const bool is_named = std::ranges::find(origins_, origin) != origins_.end();
    return is_named || !no_auth_ ? origin : std::string();
}

} // namespace berth::server::http
