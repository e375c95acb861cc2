#include "server/options/http_options.hpp"

#include "sandbox/base/error.hpp"
#include "server/options/paths.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <arpa/inet.h>

namespace berth::server {
namespace {

constexpr int octal = 8;

[[noreturn]] void refuse_setting(const Layers& layers, const std::string& key,
                                 const std::string& why, const std::string& hint)
{
    throw Error(ErrorCode::invalid_argument,
                key + " = \"" + layers.text(key) + "\" (" + layers.raw(key).origin + ") " + why,
                hint);
}

bool is_address(const std::string& text)
{
    in6_addr ignored{};
    return ::inet_pton(AF_INET, text.c_str(), &ignored) == 1 ||
           ::inet_pton(AF_INET6, text.c_str(), &ignored) == 1;
}

unsigned mode_of(const Layers& layers)
{
    const auto text = layers.text("unix_mode");
    unsigned mode = 0;
    const auto* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, mode, octal);
    if (text.empty() || error != std::errc() || stopped != end || mode > 0777) {
        refuse_setting(layers, "unix_mode", "is no mode of a file",
                       "Say it in octal digits: 0600 for the server's user alone, 0660 for its "
                       "group too, 0666 for all users of this host.");
    }
    return mode;
}

/// Who reaches a port of loopback is any user and any web page of this host; beyond it, anybody.
void check_http(const Layers& layers, const HttpOptions& http)
{
    const auto parsed = parse_http_address(http.address);
    if (!parsed) {
        refuse_setting(
            layers, "http", "is not ADDRESS:PORT",
            "For instance 127.0.0.1:8931, [::1]:8931, or localhost:0 for any free port.");
    }
    if (http.token_file.empty() && !http.jwt.is_wanted() && !http.no_auth) {
        refuse_setting(
            layers, "http", "would be served without a token file",
            "Say who may call: --token-file FILE (docs/http.md shows how one is made), or "
            "jwt_issuer with jwt_audience and jwt_keys for an issuer's access tokens. "
            "--unix PATH knows its callers by their users instead, and "
            "--insecure-no-auth lets in whoever reaches the port.");
    }
    if (!parsed->is_loopback() && !http.behind_proxy) {
        refuse_setting(layers, "http", "would be reached from other hosts, without encryption",
                       "Listen on 127.0.0.1 and put a proxy with TLS before it; where that proxy "
                       "is on another host of a network you trust, say so: --behind-proxy.");
    }
}

/// All of it or nothing: keys without a rule for whom they speak would let in whoever has any token
/// of theirs.
JwtOptions make_jwt_options(const Layers& layers)
{
    JwtOptions jwt{.issuer = layers.text("jwt_issuer"),
                   .audience = layers.text("jwt_audience"),
                   .keys = layers.text("jwt_keys"),
                   .principal = layers.text("jwt_principal")};
    const bool any = !jwt.issuer.empty() || !jwt.audience.empty() || !jwt.keys.empty();
    for (const auto* key : {"jwt_issuer", "jwt_audience", "jwt_keys", "jwt_principal"}) {
        if (any && layers.text(key).empty()) {
            refuse_setting(layers, key, "is missing",
                           "Tokens of an issuer are taken with jwt_issuer, jwt_audience and "
                           "jwt_keys together.");
        }
    }
    if (!jwt.keys.empty()) {
        jwt.keys = absolute_path(jwt.keys);
    }
    return jwt;
}

} // namespace

bool HttpAddress::is_loopback() const
{
    in6_addr parsed{};
    return address.starts_with("127.") ||
           (::inet_pton(AF_INET6, address.c_str(), &parsed) == 1 && IN6_IS_ADDR_LOOPBACK(&parsed));
}

std::optional<HttpAddress> parse_http_address(const std::string& text)
{
    const auto colon = text.rfind(':');
    if (colon == std::string::npos) {
        return std::nullopt;
    }
    HttpAddress parsed{.address = text.substr(0, colon)};
    const auto* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data() + colon + 1, end, parsed.port);
    if (error != std::errc() || stopped != end || colon + 1 == text.size()) {
        return std::nullopt;
    }
    if (parsed.address == "localhost") {
        parsed.address = "127.0.0.1";
    }
    const bool bracketed = parsed.address.starts_with('[') && parsed.address.ends_with(']');
    if (bracketed) {
        parsed.address = parsed.address.substr(1, parsed.address.size() - 2);
    }
    const bool is_v6 = parsed.address.find(':') != std::string::npos;
    return is_address(parsed.address) && is_v6 == bracketed ? std::optional(parsed) : std::nullopt;
}

HttpOptions make_http_options(const Layers& layers)
{
    HttpOptions http{.address = layers.text("http"),
                     .unix_path = layers.text("unix"),
                     .unix_mode = mode_of(layers),
                     .token_file = layers.text("token_file"),
                     .operator_token_file = layers.text("operator_token_file"),
                     .jwt = make_jwt_options(layers),
                     .no_auth = layers.boolean("insecure_no_auth"),
                     .behind_proxy = layers.boolean("behind_proxy"),
                     .open_metrics = layers.choice("http_metrics") == "anybody",
                     .hosts = layers.raw("http_hosts").items,
                     .origins = layers.raw("http_origins").items,
                     .idle = std::chrono::milliseconds(layers.integer<std::int64_t>("http_idle")),
                     .connections = layers.integer<std::size_t>("http_connections")};
    if (!http.address.empty() && !http.unix_path.empty()) {
        refuse_setting(layers, "unix", "and http cannot both be served",
                       "Leave one out, or start a second server: several may serve one state "
                       "directory.");
    }
    if (!http.address.empty()) {
        check_http(layers, http);
    }
    if (http.no_auth && !http.token_file.empty()) {
        refuse_setting(layers, "token_file", "is not looked at with insecure_no_auth",
                       "Leave one of the two out.");
    }
    if (http.no_auth && http.jwt.is_wanted()) {
        refuse_setting(layers, "jwt_issuer", "is not looked at with insecure_no_auth",
                       "Leave one of the two out.");
    }
    if (!http.token_file.empty()) {
        http.token_file = absolute_path(http.token_file);
    }
    if (!http.operator_token_file.empty()) {
        http.operator_token_file = absolute_path(http.operator_token_file);
        if (http.operator_token_file == http.token_file) {
            refuse_setting(layers, "operator_token_file", "is the token file too",
                           "A token that calls tools is none of an operator's: name two files.");
        }
    }
    if (!http.unix_path.empty()) {
        http.unix_path = absolute_path(http.unix_path);
    }
    return http;
}

void require_http_for_flags(const Layers& layers, const HttpOptions& http)
{
    if (http.is_wanted()) {
        return;
    }
    const std::array<std::pair<const char*, bool>, 4> said{
        {{"token_file", !http.token_file.empty()},
         {"operator_token_file", !http.operator_token_file.empty()},
         {"insecure_no_auth", http.no_auth},
         {"behind_proxy", http.behind_proxy}}};
    for (const auto& [key, is_said] : said) {
        const auto& origin = layers.raw(key).origin;
        if (is_said && origin.starts_with("flag")) {
            throw Error(ErrorCode::invalid_argument,
                        std::string(key) + " (" + origin +
                            ") is of a server of HTTP, and this one speaks on standard input",
                        "Say where it shall listen, --http ADDRESS:PORT or --unix PATH, or leave "
                        "the flag out.");
        }
    }
}

} // namespace berth::server
