#include "sandbox/filter/address.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace berth::filter {
namespace {

struct Special {
    Range range;
    SpecialPlace place;
};

Special special(std::string_view range, std::string_view name, bool opens = false)
{
    return {Range::parse(range).value(), {.name = name, .opens = opens}}; // NOLINT(*-unchecked-*)
}

/// The first that fits counts: what is narrower stands before what it lies in.
const std::vector<Special>& specials()
{
    static const std::vector<Special> all{
        special("169.254.0.0/16", "a link-local address, where clouds answer with credentials"),
        special("100.100.100.200", "the metadata address of a cloud"),
        special("168.63.129.16", "the metadata address of a cloud"),
        special("192.0.0.192", "the metadata address of a cloud"),
        special("fd00:ec2::254", "the metadata address of a cloud"),
        special("fd20:ce::254", "the metadata address of a cloud"),
        special("fe80::/10", "a link-local address"),
        special("127.0.0.0/8", "a loopback address", true),
        special("::1", "a loopback address", true),
        special("10.0.0.0/8", "a private address", true),
        special("172.16.0.0/12", "a private address", true),
        special("192.168.0.0/16", "a private address", true),
        special("100.64.0.0/10", "an address of a provider's own network", true),
        special("fc00::/7", "a private address", true),
        special("fec0::/10", "a private address", true),
        special("0.0.0.0/8", "no address of anything"),
        special("192.0.0.0/24", "an address of a special purpose"),
        special("192.0.2.0/24", "an address for documentation"),
        special("192.88.99.0/24", "IPv4 in IPv6 (6to4)"),
        special("198.18.0.0/15", "an address for benchmarks", true),
        special("198.51.100.0/24", "an address for documentation"),
        special("203.0.113.0/24", "an address for documentation"),
        special("224.0.0.0/4", "a multicast address"),
        special("240.0.0.0/4", "no address of anything"),
        special("::/96", "no address of anything, or IPv4 in IPv6"),
        special("::ffff:0:0/96", "IPv4 in IPv6"),
        special("::ffff:0:0:0/96", "IPv4 in IPv6"),
        special("64:ff9b::/96", "IPv4 in IPv6 (NAT64)"),
        special("64:ff9b:1::/48", "IPv4 in IPv6 (NAT64)"),
        special("2001::/32", "IPv4 in IPv6 (Teredo)"),
        special("2002::/16", "IPv4 in IPv6 (6to4)"),
        special("2001:db8::/32", "an address for documentation"),
        special("3fff::/20", "an address for documentation"),
        special("100::/64", "no address of anything"),
        special("ff00::/8", "a multicast address"),
    };
    return all;
}

} // namespace

std::optional<Address> Address::parse(std::string_view text)
{
    const std::string whole(text);
    if (whole.size() != std::strlen(whole.c_str())) {
        return std::nullopt;
    }
    Address address;
    if (::inet_pton(AF_INET, whole.c_str(), address.bytes_.data()) == 1) {
        return address;
    }
    address.bits_ = 128;
    if (::inet_pton(AF_INET6, whole.c_str(), address.bytes_.data()) == 1) {
        return address;
    }
    return std::nullopt;
}

std::optional<Address> Address::of(const sockaddr* address)
{
    Address found;
    if (address->sa_family == AF_INET) {
        const auto* const v4 = reinterpret_cast<const sockaddr_in*>(address);
        std::memcpy(found.bytes_.data(), &v4->sin_addr, sizeof v4->sin_addr);
        return found;
    }
    if (address->sa_family == AF_INET6) {
        const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(address);
        std::memcpy(found.bytes_.data(), &v6->sin6_addr, sizeof v6->sin6_addr);
        found.bits_ = 128;
        return found;
    }
    return std::nullopt;
}

std::string Address::to_text() const
{
    std::array<char, INET6_ADDRSTRLEN> text{};
    return ::inet_ntop(is_v4() ? AF_INET : AF_INET6, bytes_.data(), text.data(), text.size());
}

bool Address::begins_as(const Address& other, unsigned prefix) const noexcept
{
    if (bits_ != other.bits_) {
        return false;
    }
    const unsigned whole = prefix / 8;
    if (!std::equal(bytes_.begin(), bytes_.begin() + whole, other.bytes_.begin())) {
        return false;
    }
    const unsigned rest = prefix % 8;
    const unsigned mask = rest == 0 ? 0 : 0xFFU << (8 - rest) & 0xFFU;
    return rest == 0 || (bytes_.at(whole) & mask) == (other.bytes_.at(whole) & mask);
}

std::optional<Range> Range::parse(std::string_view text)
{
    const auto slash = text.find('/');
    const auto base = Address::parse(text.substr(0, slash));
    if (!base) {
        return std::nullopt;
    }
    Range range{.base = *base, .prefix = base->bits()};
    if (slash == std::string_view::npos) {
        return range;
    }
    const auto digits = text.substr(slash + 1);
    const auto [stop, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), range.prefix);
    if (error != std::errc() || stop != digits.data() + digits.size() ||
        range.prefix > base->bits()) {
        return std::nullopt;
    }
    return range;
}

std::optional<SpecialPlace> special_place(const Address& address)
{
    const auto& all = specials();
    const auto found = std::ranges::find_if(
        all, [&](const Special& each) { return each.range.contains(address); });
    return found == all.end() ? std::nullopt : std::optional(found->place);
}

bool may_open(const Range& range)
{
    return std::ranges::any_of(specials(), [&](const Special& each) {
        return each.place.opens && each.range.contains(range);
    });
}

} // namespace berth::filter
