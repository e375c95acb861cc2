#include "sandbox/e2b/outbound_rules.hpp"

#include "sandbox/base/error.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace berth::e2b {
namespace {

bool is_label(std::string_view text)
{
    constexpr std::size_t longest = 63;
    return !text.empty() && text.size() <= longest && text.front() != '-' && text.back() != '-' &&
           std::ranges::all_of(text, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_';
           });
}

/// `*.` in front stands for all below it. What ends in a number is an address that was mistyped.
bool is_domain(std::string_view text)
{
    constexpr std::size_t longest = 253;
    if (text.starts_with("*.")) {
        text.remove_prefix(2);
    }
    if (text.empty() || text.size() > longest) {
        return false;
    }
    for (;;) {
        const auto dot = text.find('.');
        const auto label = text.substr(0, dot);
        if (!is_label(label)) {
            return false;
        }
        if (dot == std::string_view::npos) {
            return label.find_first_not_of("0123456789") != std::string_view::npos;
        }
        text.remove_prefix(dot + 1);
    }
}

[[noreturn]] void refuse_list(const std::string& what, std::string hint)
{
    throw Error(ErrorCode::invalid_argument, what, std::move(hint));
}

void require_taken(const std::string& key, const filter::Range& range, const std::string& text)
{
    if (!takes(range)) {
        refuse_list(key + " has \"" + text + "\", which begins at no address",
                    "E2B takes such a range as 0.0.0.0/0 alone, which is all addresses.");
    }
}

} // namespace

bool takes(const filter::Range& range)
{
    const auto base = range.base.to_text();
    return (base != "0.0.0.0" && base != "::") || (range.base.is_v4() && range.prefix == 0);
}

void require_outbound(const sandbox::Outbound& outbound)
{
    bool any_domain = false;
    for (const auto& each : outbound.allow) {
        const auto range = filter::Range::parse(each);
        if (!range && !is_domain(each)) {
            refuse_list("e2b.allow_out has \"" + each + "\", which is no address, range or domain",
                        "Write it as 203.0.113.7, 203.0.113.0/24, pypi.org or *.pypi.org.");
        }
        if (range) {
            require_taken("e2b.allow_out", *range, each);
        }
        any_domain = any_domain || !range;
    }
    for (const auto& each : outbound.deny) {
        const auto range = filter::Range::parse(each);
        if (!range) {
            refuse_list("e2b.deny_out has \"" + each + "\", which is no address and no range",
                        "Write it as 203.0.113.7 or 203.0.113.0/24; E2B denies no names. To let "
                        "commands reach some names alone, put those in e2b.allow_out.");
        }
        require_taken("e2b.deny_out", *range, each);
    }
    if (any_domain && !outbound.deny.empty() &&
        std::ranges::find(outbound.deny, everything) == outbound.deny.end()) {
        refuse_list("e2b.allow_out has a domain, and e2b.deny_out does not deny the rest",
                    "Add \"0.0.0.0/0\" to e2b.deny_out, as E2B wants it beside domains, or leave "
                    "e2b.deny_out out, which means the same.");
    }
}

} // namespace berth::e2b
