#include "sandbox/filter/secret_rule.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/small_letters.hpp"

#include <algorithm>
#include <cstddef>

namespace berth::filter {
namespace {

constexpr std::uint16_t http_port = 80;
constexpr std::uint16_t https_port = 443;
constexpr std::string_view http = "http://";
constexpr std::string_view https = "https://";
constexpr std::size_t longest_value = 8UL * 1024;

std::uint16_t usual_port(bool is_tls)
{
    return is_tls ? https_port : http_port;
}

Error bad_place(const std::string& why)
{
    return {ErrorCode::invalid_argument, "this is no place of a secret: " + why,
            "An entry of filter.secret is NAME=https://HOST or NAME=http://HOST, with :PORT if "
            "that is another than 443 or 80, with ? behind it if the value may go into the address "
            "of a request too, and nothing else: GITHUB_TOKEN=https://api.github.com."};
}

} // namespace

std::string SecretPlace::to_text() const
{
    return site() + (takes_address ? "?" : "");
}

std::string SecretPlace::site() const
{
    auto shown = target;
    shown.port = target.port == usual_port(is_tls) ? 0 : target.port;
    return std::string(is_tls ? https : http) + shown.to_text();
}

SecretPlace parse_secret_place(std::string_view text)
{
    const auto small = in_small_letters(text.substr(0, https.size()));
    const bool is_tls = small == https;
    if (!is_tls && !small.starts_with(http)) {
        throw bad_place("it does not begin with https:// or http://");
    }
    auto authority = text.substr(is_tls ? https.size() : http.size());
    const bool takes_address = authority.ends_with('?');
    authority.remove_suffix(takes_address ? 1 : 0);
    if (authority.find_first_of("/?#@*") != std::string_view::npos) {
        throw bad_place("it is of one host as a whole, without a path, a user or *");
    }
    const auto bracket = authority.find(']');
    const auto colon = authority.find(
        ':', authority.starts_with('[') && bracket != std::string_view::npos ? bracket : 0);
    const auto port =
        colon == std::string_view::npos ? usual_port(is_tls) : port_of(authority.substr(colon + 1));
    auto target = port ? target_of(authority.substr(0, colon), *port) : std::nullopt;
    if (!target) {
        throw bad_place("its host is no name or address, or its port is none");
    }
    return {.target = std::move(*target), .is_tls = is_tls, .takes_address = takes_address};
}

SecretRule parse_secret_rule(std::string_view text)
{
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) {
        throw bad_place("it is not of the form NAME=https://HOST");
    }
    return {.name = std::string(text.substr(0, equals)),
            .place = parse_secret_place(text.substr(equals + 1))};
}

std::string unfit_for_request(std::string_view value)
{
    if (value.empty()) {
        return "it is empty";
    }
    if (value.size() > longest_value) {
        return "it has more than " + std::to_string(longest_value) + " bytes";
    }
    const bool has_control = std::ranges::any_of(value, [](char c) {
        return static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) == 0x7F;
    });
    return has_control ? "it has a line end or another control character in it" : "";
}

} // namespace berth::filter
