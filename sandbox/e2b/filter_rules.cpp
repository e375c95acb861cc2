#include "sandbox/e2b/filter_rules.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/e2b/outbound_rules.hpp"
#include "sandbox/filter/rules.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace berth::e2b {
namespace {

using filter::Range;
using filter::Rule;

constexpr std::uint16_t http_port = 80;
constexpr std::uint16_t https_port = 443;

[[noreturn]] void refuse(const std::string& what, std::string hint)
{
    throw Error(ErrorCode::invalid_argument, what, std::move(hint));
}

bool is_range(const Rule& rule)
{
    return rule.kind == Rule::Kind::range;
}

bool has_every_port(const Rule& rule)
{
    return !rule.usual_ports && rule.has_port(1) && rule.has_port(UINT16_MAX);
}

std::string text_of(const Range& range)
{
    const auto address = range.base.to_text();
    return range.prefix == range.base.bits() ? address
                                             : address + '/' + std::to_string(range.prefix);
}

std::string e2b_range(const std::string& text, const Rule& rule)
{
    const auto range = text_of(rule.range);
    if (!rule.range.base.is_v4()) {
        refuse("filter.allow has \"" + text + "\", and sandboxes of E2B have no IPv6",
               "Leave it out, or name what is there: E2B reaches that by whatever it is at.");
    }
    if (!has_every_port(rule)) {
        refuse("filter.allow has \"" + text + "\", and E2B keeps addresses to no ports",
               "Write \"" + range +
                   ":*\" where all of its ports may be reached; else name what is "
                   "there, without ports, or use --backend local.");
    }
    if (!takes(rule.range)) {
        refuse("filter.allow has \"" + text + "\", which begins at no address",
               "E2B takes such a range as 0.0.0.0/0:* alone, which is all addresses.");
    }
    return range;
}

std::string e2b_name(const std::string& text, const Rule& rule)
{
    const auto name = rule.kind == Rule::Kind::any_name ? std::string(any_name)
                      : rule.kind == Rule::Kind::below  ? '*' + rule.name
                                                        : rule.name;
    if (!rule.usual_ports) {
        refuse("filter.allow has \"" + text +
                   "\", and E2B knows a name on the ports 80 and 443 alone, and on both",
               "Write \"" + name +
                   "\" where it may be reached on these two, or use --backend "
                   "local, which keeps rules to ports.");
    }
    return name;
}

bool names_meet(const Rule& one, const Rule& other)
{
    if (one.kind == Rule::Kind::below && other.kind == Rule::Kind::below) {
        return one.name.ends_with(other.name) || other.name.ends_with(one.name);
    }
    return one.kind == Rule::Kind::any_name || other.kind == Rule::Kind::any_name ||
           one.has_name(other.name) || other.has_name(one.name);
}

/// Which E2B lets nobody reach, by whatever name.
bool is_out_of_reach(const Range& range)
{
    static const std::array local{Range::parse("169.254.0.0/16").value(),
                                  Range::parse("fe80::/10").value()};
    return filter::may_open(range) ||
           std::ranges::any_of(local, [&](const Range& each) { return each.contains(range); });
}

/// Something that is allowed may be what is denied: where a name leads only E2B finds out, and by
/// which name an address is asked for it does not look at.
bool may_meet(const Rule& denied, const Rule& allowed)
{
    const bool of_a_port =
        is_range(allowed) || denied.has_port(http_port) || denied.has_port(https_port);
    if (!of_a_port || (is_range(denied) && is_out_of_reach(denied.range))) {
        return false;
    }
    if (!is_range(denied)) {
        return is_range(allowed) || names_meet(denied, allowed);
    }
    return !is_range(allowed) || denied.range.contains(allowed.range) ||
           allowed.range.contains(denied.range);
}

void require_denied_anyway(const std::string& text, const sandbox::Filter& filter)
{
    const auto denied = filter::parse_rule(text, /*allows=*/false);
    for (const auto& each : filter.allow) {
        if (may_meet(denied, filter::parse_rule(each, /*allows=*/true))) {
            std::string what = "filter.deny has \"" + text + "\", which filter.allow may let ";
            what +=
                "through by \"" + each + "\": E2B keeps nobody from what is allowed, though it ";
            refuse(what + "be denied",
                   "Say in filter.allow what is left, so that nothing has to be denied of it, or "
                   "use --backend local, where what is denied is.");
        }
    }
}

} // namespace

sandbox::Outbound outbound_of(const sandbox::Filter& filter)
{
    if (!filter.inner.empty()) {
        refuse("filter.private has \"" + filter.inner.front() +
                   "\", and sandboxes of E2B reach no private network",
               "Leave it out, or use --backend local.");
    }
    sandbox::Outbound outbound{.allow = {}, .deny = {std::string(everything)}};
    for (const auto& text : filter.allow) {
        const auto rule = filter::parse_rule(text, /*allows=*/true);
        outbound.allow.push_back(is_range(rule) ? e2b_range(text, rule) : e2b_name(text, rule));
    }
    for (const auto& text : filter.deny) {
        require_denied_anyway(text, filter);
    }
    return outbound;
}

} // namespace berth::e2b
