#include "sandbox/e2b/proxy.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/percent.hpp"
#include "sandbox/base/small_letters.hpp"

#include <algorithm>

namespace berth::e2b {
namespace {

constexpr std::string_view scheme = "http://";

[[noreturn]] void refuse_proxy(const std::string& variable, const std::string& why)
{
    throw Error(ErrorCode::invalid_argument, variable + " is not allowed: " + why,
                "Allowed: http://[USER[:PASSWORD]@]HOST[:PORT]. In user and password write "
                "anything but letters, digits, - . _ ~ as %XX.");
}

std::string decoded(std::string_view text, const std::string& variable)
{
    auto plain = percent_decoded(text);
    if (!plain) {
        refuse_proxy(variable, "a % is followed by something else than two hexadecimal digits");
    }
    return std::move(*plain);
}

Proxy parse_proxy(std::string_view text, const std::string& variable)
{
    if (text.starts_with(scheme)) {
        text.remove_prefix(scheme.size());
    } else if (text.find("://") != std::string_view::npos) {
        refuse_proxy(variable, "only proxies of http:// are spoken to");
    }
    Proxy proxy;
    const auto at = text.rfind('@');
    if (at != std::string_view::npos) {
        const auto who = text.substr(0, at);
        const auto colon = std::min(who.find(':'), who.size());
        proxy.user = decoded(who.substr(0, colon), variable);
        proxy.password = decoded(who.substr(std::min(colon + 1, who.size())), variable);
        text.remove_prefix(at + 1);
    }
    const auto endpoint = parse_endpoint(std::string(scheme) + std::string(text), variable);
    if (!endpoint.prefix.empty()) {
        refuse_proxy(variable, "a path follows the host");
    }
    proxy.host = endpoint.host;
    proxy.port = endpoint.port;
    return proxy;
}

/// `name`: becomes the one that was found.
std::optional<std::string> value_of(const Variables& variables, std::string& name)
{
    for (const auto& each : {in_small_letters(name), name}) {
        if (auto value = variables(each); value && !value->empty()) {
            name = each;
            return value;
        }
    }
    return std::nullopt;
}

std::optional<Proxy> proxy_of(const Variables& variables, std::string name)
{
    const auto value = value_of(variables, name);
    return value ? std::optional(parse_proxy(*value, name)) : std::nullopt;
}

bool covers(std::string_view name, std::string_view host)
{
    return host == name || (host.size() > name.size() && host.ends_with(name) &&
                            host[host.size() - name.size() - 1] == '.');
}

} // namespace

ProxyRules ProxyRules::read(const Variables& variables)
{
    ProxyRules rules;
    rules.tls_ = proxy_of(variables, "HTTPS_PROXY");
    rules.plain_ = proxy_of(variables, "HTTP_PROXY");
    std::string name = "NO_PROXY";
    const auto listed = value_of(variables, name).value_or("");
    std::string_view rest = listed;
    while (!rest.empty()) {
        auto entry = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
        const auto first = entry.find_first_not_of(" .");
        if (first != std::string_view::npos) {
            entry = entry.substr(first, entry.find_last_not_of(' ') - first + 1);
            rules.exempt_.push_back(in_small_letters(entry));
        }
    }
    return rules;
}

std::optional<Proxy> ProxyRules::for_endpoint(const Endpoint& endpoint) const
{
    return endpoint.is_loopback() || is_exempt(endpoint) ? std::nullopt
                                                         : (endpoint.tls ? tls_ : plain_);
}

bool ProxyRules::is_exempt(const Endpoint& endpoint) const
{
    const auto host = in_small_letters(endpoint.host);
    return std::any_of(exempt_.begin(), exempt_.end(), [&](std::string_view entry) {
        const auto colon = entry.rfind(':');
        const bool has_port = colon != std::string_view::npos && entry.find(':') == colon;
        if (has_port && parse_port(entry.substr(colon + 1)) != endpoint.port) {
            return false;
        }
        return entry == "*" || covers(has_port ? entry.substr(0, colon) : entry, host);
    });
}

} // namespace berth::e2b
