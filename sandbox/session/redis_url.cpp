#include "sandbox/session/redis_url.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/percent.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/base/visible.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace berth::session {
namespace {

constexpr std::string_view tcp_scheme = "redis://";
constexpr std::string_view unix_scheme = "unix://";
constexpr std::string_view tls_scheme = "rediss://";
constexpr std::uint32_t last_database = 1'000'000;

[[noreturn]] void refuse(const std::string& why)
{
    throw Error(ErrorCode::invalid_argument, "the address of the registry is not allowed: " + why,
                "Allowed: redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE] or "
                "unix://[USER[:PASSWORD]@]/PATH[?db=DATABASE]. In user and password write "
                "anything but letters, digits, - . _ ~ as %XX.");
}

std::optional<unsigned> number_in(std::string_view text, unsigned least, unsigned most)
{
    unsigned number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = !text.empty() && error == std::errc() && end == text.data() + text.size();
    return whole && number >= least && number <= most ? std::optional(number) : std::nullopt;
}

std::string decoded(std::string_view text)
{
    auto plain = percent_decoded(text);
    if (!plain) {
        refuse("a % is followed by something else than two hexadecimal digits");
    }
    return *std::move(plain);
}

/// Takes USER[:PASSWORD]@ from the front of `authority`.
void take_user(RedisAddress& address, std::string_view& authority)
{
    const auto at = authority.rfind('@');
    if (at == std::string_view::npos) {
        return;
    }
    const auto who = authority.substr(0, at);
    authority.remove_prefix(at + 1);
    const auto colon = who.find(':');
    address.user = decoded(who.substr(0, colon));
    if (colon != std::string_view::npos) {
        address.password = decoded(who.substr(colon + 1));
    }
}

std::uint32_t database_in(std::string_view text)
{
    const auto number = number_in(text, 0, last_database);
    if (!number) {
        refuse("the database is not a number");
    }
    return *number;
}

void take_port(RedisAddress& address, std::string_view text)
{
    const auto port = number_in(text, 1, 65'535);
    if (!port) {
        refuse("the port is not a number from 1 to 65535");
    }
    address.port = static_cast<std::uint16_t>(*port);
}

/// HOST[:PORT], of which HOST may be [IPv6].
void take_host(RedisAddress& address, std::string_view text)
{
    const bool bracketed = text.starts_with('[');
    const auto end = bracketed ? text.find(']') : std::min(text.find(':'), text.size());
    if (end == std::string_view::npos) {
        refuse("a [ has no ]");
    }
    address.host = text.substr(bracketed ? 1 : 0, bracketed ? end - 1 : end);
    const auto rest = text.substr(bracketed ? end + 1 : end);
    const auto is_strange = [&](char c) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
        return !plain && !(bracketed && (c == ':' || c == '%'));
    };
    if (address.host.empty() || std::any_of(address.host.begin(), address.host.end(), is_strange)) {
        refuse("it names no host");
    }
    if (rest.starts_with(':')) {
        take_port(address, rest.substr(1));
    } else if (!rest.empty()) {
        refuse("something follows the ]");
    }
}

RedisAddress parse_tcp(std::string_view text)
{
    RedisAddress address;
    const auto slash = text.find('/');
    auto authority = text.substr(0, slash);
    take_user(address, authority);
    take_host(address, authority);
    if (slash != std::string_view::npos && slash + 1 < text.size()) {
        address.database = database_in(text.substr(slash + 1));
    }
    return address;
}

RedisAddress parse_unix(std::string_view text)
{
    RedisAddress address;
    const auto slash = text.find('/');
    auto authority = text.substr(0, slash);
    take_user(address, authority);
    if (slash == std::string_view::npos || !authority.empty()) {
        refuse("the path of the socket must begin with /");
    }
    const auto question = text.find('?', slash);
    address.socket = decoded(text.substr(slash, question - slash));
    if (question != std::string_view::npos) {
        const auto query = text.substr(question + 1);
        if (!query.starts_with("db=")) {
            refuse("after the ? there may only be db=DATABASE");
        }
        address.database = database_in(query.substr(3));
    }
    return address;
}

} // namespace

std::string RedisAddress::shown() const
{
    if (host.empty()) {
        return "unix://" + visible(socket) +
               (database == 0 ? "" : "?db=" + std::to_string(database));
    }
    const bool numbers = host.find(':') != std::string::npos;
    return "redis://" + (numbers ? '[' + host + ']' : host) + ':' + std::to_string(port) + '/' +
           std::to_string(database);
}

RedisAddress parse_redis_url(std::string_view url)
{
    if (url.starts_with(tls_scheme)) {
        throw Error(ErrorCode::invalid_argument,
                    "the address of the registry is not allowed: this build speaks no TLS "
                    "(rediss://), since Debian's hiredis has none",
                    "Use redis:// in a network of your own, or through a tunnel (stunnel, ssh, "
                    "WireGuard), or unix:// on one host.");
    }
    if (!utf8::is_valid(url) || utf8::has_control(url) || url.find(' ') != std::string_view::npos) {
        refuse("it has blanks or control characters in it");
    }
    if (url.starts_with(tcp_scheme)) {
        return parse_tcp(url.substr(tcp_scheme.size()));
    }
    if (url.starts_with(unix_scheme)) {
        return parse_unix(url.substr(unix_scheme.size()));
    }
    refuse("it begins neither with redis:// nor with unix://");
}

} // namespace berth::session
