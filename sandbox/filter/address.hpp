#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/socket.h>

namespace berth::filter {

/// Of IPv4 or IPv6. No form of one in the other: what an address means is what it says.
class Address {
  public:
    /// Four numbers with dots, or IPv6 as inet_pton(3) takes it, without a zone: none of the other
    /// spellings that libraries know, as 127.1 or 0x7f000001.
    [[nodiscard]] static std::optional<Address> parse(std::string_view text);

    /// Nothing of another family.
    [[nodiscard]] static std::optional<Address> of(const sockaddr* address);

    [[nodiscard]] bool is_v4() const noexcept { return bits_ == 32; }

    /// Of this family: 32 or 128.
    [[nodiscard]] unsigned bits() const noexcept { return bits_; }

    [[nodiscard]] std::string to_text() const;

    /// Whether the first `prefix` bits are those of `other`.
    [[nodiscard]] bool begins_as(const Address& other, unsigned prefix) const noexcept;

    friend bool operator==(const Address&, const Address&) = default;

  private:
    std::array<std::uint8_t, 16> bytes_{}; ///< those of IPv4 are the first four
    unsigned bits_ = 32;
};

/// Addresses that begin alike: 10.0.0.0/8, 2001:db8::/32.
struct Range {
    Address base;
    unsigned prefix = 0;

    /// Of one address without a prefix that one alone.
    [[nodiscard]] static std::optional<Range> parse(std::string_view text);

    [[nodiscard]] bool contains(const Address& address) const noexcept
    {
        return address.begins_as(base, prefix);
    }

    /// Whether all of `other` is in it.
    [[nodiscard]] bool contains(const Range& other) const noexcept
    {
        return prefix <= other.prefix && contains(other.base);
    }
};

/// What an address is, where a sandbox may not just reach it.
struct SpecialPlace {
    std::string_view name; ///< "a loopback address"
    bool opens = false;    ///< filter.private may open it
};

/// Nothing of an ordinary address of the internet. From the registries of special-purpose
/// addresses (RFC 6890), and what clouds keep credentials at.
[[nodiscard]] std::optional<SpecialPlace> special_place(const Address& address);

/// Whether all of a range is what filter.private may open.
[[nodiscard]] bool may_open(const Range& range);

} // namespace berth::filter
