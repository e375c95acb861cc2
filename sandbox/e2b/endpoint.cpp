#include "sandbox/e2b/endpoint.hpp"

#include "sandbox/base/error.hpp"

#include <algorithm>
#include <charconv>

#include <arpa/inet.h>

namespace berth::e2b {
namespace {

constexpr std::string_view tls_scheme = "https://";
constexpr std::string_view plain_scheme = "http://";
constexpr std::size_t longest_name = 253;

[[noreturn]] void refuse(const std::string& setting, const std::string& why)
{
    throw Error(ErrorCode::invalid_argument, setting + " is not allowed: " + why,
                "Allowed: https://HOST[:PORT][/PATH], or http:// in its place.");
}

bool is_letter_or_digit(char c) noexcept
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_ipv6(const std::string& text) noexcept
{
    in6_addr address{};
    return ::inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

/// Only what needs no encoding: what is written here goes into the first line of each request,
/// where a blank or a line end would begin something else.
bool is_plain_path(std::string_view path) noexcept
{
    return std::all_of(path.begin(), path.end(), [](char c) {
        return is_letter_or_digit(c) || std::string_view("/-._~").find(c) != std::string_view::npos;
    });
}

void take_host(Endpoint& endpoint, std::string_view authority, const std::string& setting)
{
    const bool bracketed = authority.starts_with('[');
    const auto end =
        bracketed ? authority.find(']') : std::min(authority.find(':'), authority.size());
    if (end == std::string_view::npos) {
        refuse(setting, "a [ has no ]");
    }
    endpoint.host = authority.substr(bracketed ? 1 : 0, bracketed ? end - 1 : end);
    if (bracketed ? !is_ipv6(endpoint.host) : !is_host_name(endpoint.host)) {
        refuse(setting, "it names no host");
    }
    const auto rest = authority.substr(bracketed ? end + 1 : end);
    if (rest.empty()) {
        return;
    }
    endpoint.port = rest.front() == ':' ? parse_port(rest.substr(1)) : std::uint16_t{0};
    if (endpoint.port == 0) {
        refuse(setting, "the port is not a number from 1 to 65535");
    }
}

} // namespace

std::string Endpoint::authority() const
{
    const bool numbers = host.find(':') != std::string::npos;
    return (numbers ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

std::string Endpoint::shown() const
{
    const bool usual = port == (tls ? 443 : 80);
    auto where = authority();
    if (usual) {
        where.resize(where.rfind(':'));
    }
    return std::string(tls ? tls_scheme : plain_scheme) + where + prefix;
}

bool Endpoint::is_loopback() const
{
    in_addr number{};
    if (::inet_pton(AF_INET, host.c_str(), &number) == 1) {
        return (ntohl(number.s_addr) >> 24U) == IN_LOOPBACKNET;
    }
    return host == "localhost" || host.ends_with(".localhost") || host == "::1";
}

Endpoint parse_endpoint(std::string_view url, const std::string& setting)
{
    Endpoint endpoint;
    endpoint.tls = url.starts_with(tls_scheme);
    if (!endpoint.tls && !url.starts_with(plain_scheme)) {
        refuse(setting, "it begins neither with https:// nor with http://");
    }
    endpoint.port = endpoint.tls ? 443 : 80;
    url.remove_prefix(endpoint.tls ? tls_scheme.size() : plain_scheme.size());
    const auto slash = std::min(url.find('/'), url.size());
    const auto authority = url.substr(0, slash);
    auto path = url.substr(slash);
    if (authority.find('@') != std::string_view::npos) {
        refuse(setting, "it has a user in it; the key belongs in E2B_API_KEY");
    }
    while (path.ends_with('/')) {
        path.remove_suffix(1);
    }
    if (!is_plain_path(path)) {
        refuse(setting, "its path has something else than letters, digits and - . _ ~ in it");
    }
    endpoint.prefix = path;
    take_host(endpoint, authority, setting);
    return endpoint;
}

bool is_host_name(std::string_view text) noexcept
{
    return !text.empty() && text.size() <= longest_name && is_letter_or_digit(text.front()) &&
           is_letter_or_digit(text.back()) && text.find("..") == std::string_view::npos &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_';
           });
}

std::uint16_t parse_port(std::string_view text) noexcept
{
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    return error == std::errc() && end == text.data() + text.size() ? port : std::uint16_t{0};
}

} // namespace berth::e2b
