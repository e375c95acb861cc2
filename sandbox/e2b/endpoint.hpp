#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::e2b {

/// A server of HTTP: where it listens, and below which path.
struct Endpoint {
    bool tls = true;
    std::string host; ///< a name or a number; of IPv6 without brackets
    std::uint16_t port = 443;
    std::string prefix; ///< "" or "/path" without a slash at its end

    /// HOST:PORT.
    [[nodiscard]] std::string authority() const;

    /// For people: as a URL.
    [[nodiscard]] std::string shown() const;

    /// Whether it is on this host, by its name or number.
    [[nodiscard]] bool is_loopback() const;

    friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// https://HOST[:PORT][/PATH] or the same with http. Throws Error(invalid_argument) that names
/// `setting` and quotes nothing of `url`: a key that was put there by mistake may be in it.
[[nodiscard]] Endpoint parse_endpoint(std::string_view url, const std::string& setting);

/// Whether it can be (part of) the name of a host: letters, digits, dots and hyphens, so that
/// nothing in it begins a port, a path or another host. At most 253.
[[nodiscard]] bool is_host_name(std::string_view text) noexcept;

/// Digits only, 1 to 65535; 0 for anything else.
[[nodiscard]] std::uint16_t parse_port(std::string_view text) noexcept;

} // namespace berth::e2b
