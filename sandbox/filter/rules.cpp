#include "sandbox/filter/rules.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/small_letters.hpp"
#include "sandbox/base/split.hpp"
#include "sandbox/base/visible.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

namespace berth::filter {
namespace {

using protocol::Denial;

constexpr std::uint16_t last_of_ports = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint16_t http_port = 80;
constexpr std::uint16_t https_port = 443;
constexpr std::size_t longest_name = 253;
constexpr std::size_t longest_label = 63;

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool is_label(std::string_view label)
{
    return !label.empty() && label.size() <= longest_label &&
           std::ranges::all_of(label, [](char c) {
               return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
           });
}

/// What inet_aton(3), and so many a library, takes for the last part of an address.
bool is_number(std::string_view label)
{
    const bool is_hex = label.starts_with("0x");
    const auto digits = is_hex ? label.substr(2) : label;
    return std::ranges::all_of(
        digits, [&](char c) { return is_digit(c) || (is_hex && c >= 'a' && c <= 'f'); });
}

bool is_name(std::string_view name)
{
    if (name.empty() || name.size() > longest_name || name.ends_with('.')) {
        return false;
    }
    const auto labels = split(name, '.');
    return std::ranges::all_of(labels, is_label) && !is_number(labels.back());
}

Error bad_rule(std::string_view text, const std::string& why)
{
    return {ErrorCode::invalid_argument,
            '"' + visible_beginning(text, 128, " …") + "\" is no rule: " + why,
            "A rule is a name, *.NAME, an address or a range, with its ports if these are others "
            "than 80 and 443: example.com, *.example.com:443, 203.0.113.0/24:8000-8100, "
            "[2001:db8::1]:22."};
}

struct Parts {
    std::string_view place;
    std::optional<std::string_view> ports;
};

/// IPv6 has colons of its own: with ports it stands in brackets.
Parts parts_of(std::string_view text)
{
    if (text.starts_with('[')) {
        const auto end = text.find(']');
        if (end == std::string_view::npos) {
            throw bad_rule(text, "it has no ]");
        }
        const auto rest = text.substr(end + 1);
        if (!rest.empty() && rest.front() != ':') {
            throw bad_rule(text, "behind the ] comes no :PORT");
        }
        return {text.substr(1, end - 1),
                rest.empty() ? std::nullopt : std::optional(rest.substr(1))};
    }
    const auto colon = text.find(':');
    if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos) {
        return {text, std::nullopt};
    }
    return {text.substr(0, colon), text.substr(colon + 1)};
}

void set_ports(Rule& rule, std::string_view text, std::optional<std::string_view> ports,
               bool allows)
{
    rule.first_port = 1;
    rule.last_port = last_of_ports;
    if (!ports) {
        rule.usual_ports = allows;
        return;
    }
    if (*ports == "*") {
        return;
    }
    const auto dash = ports->find('-');
    const auto first = port_of(ports->substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : port_of(ports->substr(dash + 1));
    if (!first || !last || *first > *last) {
        throw bad_rule(text, "its ports are neither a number, FIRST-LAST nor *");
    }
    rule.first_port = *first;
    rule.last_port = *last;
}

void set_place(Rule& rule, std::string_view text, std::string_view place)
{
    if (const auto range = Range::parse(place)) {
        rule.kind = Rule::Kind::range;
        rule.range = *range;
        return;
    }
    if (place == "*") {
        rule.kind = Rule::Kind::any_name;
        return;
    }
    rule.name = in_small_letters(place);
    const bool below = rule.name.starts_with("*.");
    if (!is_name(std::string_view(rule.name).substr(below ? 2 : 0))) {
        throw bad_rule(text, place.find('/') != std::string_view::npos
                                 ? "there is no such range, and no path in a rule"
                                 : "it names neither a host nor an address");
    }
    if (below) {
        rule.kind = Rule::Kind::below;
        rule.name.erase(0, 1);
    }
}

Denial denial(std::string kind, const Target& target, std::string reason, std::string remedy)
{
    return {.kind = std::move(kind),
            .target = target.to_text(),
            .reason = std::move(reason),
            .remedy = std::move(remedy)};
}

std::string ask_for(const Target& target)
{
    return "Trying again does not help. If it is needed, the operator of this sandbox can add \"" +
           target.to_text() + "\" to filter.allow.";
}

} // namespace

std::string Target::to_text() const
{
    const bool brackets = address && !address->is_v4();
    return (brackets ? "[" + name + "]" : name) + (port == 0 ? "" : ":" + std::to_string(port));
}

std::optional<std::uint16_t> port_of(std::string_view digits)
{
    std::uint16_t port = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    const bool whole = error == std::errc() && stop == digits.data() + digits.size();
    return whole && port != 0 ? std::optional(port) : std::nullopt;
}

std::optional<Target> target_of(std::string_view host, std::uint16_t port)
{
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
        if (host.find(':') == std::string_view::npos) {
            return std::nullopt;
        }
    }
    if (const auto address = Address::parse(host)) {
        return Target{.name = address->to_text(), .address = address, .port = port};
    }
    std::string name = in_small_letters(host);
    if (!is_name(name)) {
        return std::nullopt;
    }
    return Target{.name = std::move(name), .address = std::nullopt, .port = port};
}

bool Rule::has_port(std::uint16_t port) const noexcept
{
    return usual_ports ? port == http_port || port == https_port
                       : port >= first_port && port <= last_port;
}

bool Rule::has_name(std::string_view wanted) const noexcept
{
    switch (kind) {
    case Kind::name:
        return wanted == name;
    case Kind::below:
        return wanted.size() > name.size() && wanted.ends_with(name);
    case Kind::any_name:
        return true;
    case Kind::range:
        break;
    }
    return false;
}

Rule parse_rule(std::string_view text, bool allows)
{
    if (text.find("://") != std::string_view::npos) {
        throw bad_rule(text, "it is a URL");
    }
    const auto parts = parts_of(text);
    Rule rule;
    set_place(rule, text, parts.place);
    set_ports(rule, text, parts.ports, allows);
    return rule;
}

void require_rule(std::string_view text, bool allows)
{
    (void)parse_rule(text, allows);
}

void require_inner_range(std::string_view text)
{
    const auto range = Range::parse(text);
    if (!range) {
        throw Error(ErrorCode::invalid_argument,
                    '"' + visible_beginning(text, 128, " …") +
                        "\" is neither an address nor a range",
                    "Name addresses, such as 10.1.2.0/24 or 127.0.0.1.");
    }
    if (!may_open(*range)) {
        throw Error(ErrorCode::invalid_argument,
                    std::string(text) + " is not a range of loopback or of a private network",
                    "Those alone can be opened: 127.0.0.0/8, 10.0.0.0/8, 172.16.0.0/12, "
                    "192.168.0.0/16, 100.64.0.0/10, ::1, fc00::/7, or a part of one.");
    }
}

Rules::Rules(const std::vector<std::string>& allow, const std::vector<std::string>& deny,
             const std::vector<std::string>& inner)
{
    for (const auto& text : allow) {
        allow_.push_back(parse_rule(text, /*allows=*/true));
    }
    for (const auto& text : deny) {
        deny_.push_back(parse_rule(text, /*allows=*/false));
    }
    for (const auto& text : inner) {
        require_inner_range(text);
        inner_.push_back(Range::parse(text).value());
    }
}

std::optional<Denial> Rules::judge(const Target& target) const
{
    const auto fits = [&](const Rule& rule) {
        return target.address
                   ? rule.kind == Rule::Kind::range && rule.range.contains(*target.address)
                   : rule.has_name(target.name);
    };
    if (std::ranges::any_of(
            deny_, [&](const Rule& rule) { return fits(rule) && rule.has_port(target.port); })) {
        return denial("domain", target, "a rule of this sandbox denies it",
                      "Do without it: trying again does not help.");
    }
    if (std::ranges::any_of(
            allow_, [&](const Rule& rule) { return fits(rule) && rule.has_port(target.port); })) {
        return target.address ? judge_place(target, *target.address) : std::nullopt;
    }
    if (std::ranges::any_of(allow_, fits)) {
        return denial("port", target,
                      "this sandbox may reach " + target.name + ", but not its port " +
                          std::to_string(target.port),
                      ask_for(target));
    }
    return denial(target.address ? "address" : "domain", target,
                  target.address ? "this address is not among those that this sandbox may reach"
                                 : "this name is not among those that this sandbox may reach",
                  ask_for(target));
}

bool Rules::names(const Target& target) const noexcept
{
    return !target.address && std::ranges::any_of(allow_, [&](const Rule& rule) {
        return rule.kind == Rule::Kind::name && rule.name == target.name &&
               rule.has_port(target.port);
    });
}

std::optional<Denial> Rules::judge_full_name(const Target& target, std::string_view name) const
{
    const bool denied = std::ranges::any_of(
        deny_, [&](const Rule& rule) { return rule.has_name(name) && rule.has_port(target.port); });
    return denied ? std::optional(denial("domain", target,
                                         "it stands for " + std::string(name) +
                                             ", which a rule of this sandbox denies",
                                         "Do without it: trying again does not help."))
                  : std::nullopt;
}

std::optional<Denial> Rules::judge_resolved(const Target& target, const Address& address) const
{
    const bool denied = std::ranges::any_of(deny_, [&](const Rule& rule) {
        return rule.kind == Rule::Kind::range && rule.range.contains(address) &&
               rule.has_port(target.port);
    });
    return denied ? denial("address", target,
                           "its address " + address.to_text() + " is denied by a rule",
                           "Do without it: trying again does not help.")
                  : judge_place(target, address);
}

std::optional<Denial> Rules::judge_place(const Target& target, const Address& address) const
{
    const auto special = special_place(address);
    if (!special) {
        return std::nullopt;
    }
    if (special->opens &&
        std::ranges::any_of(inner_, [&](const Range& range) { return range.contains(address); })) {
        return std::nullopt;
    }
    return denial("address", target,
                  (target.address ? "it is " : "it is at " + address.to_text() + ", ") +
                      std::string(special->name),
                  special->opens ? "If it is needed, the operator of this sandbox can open this "
                                   "address with filter.private."
                                 : "No setting opens it.");
}

} // namespace berth::filter
