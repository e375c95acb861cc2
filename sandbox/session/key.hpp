#pragma once

#include <cstddef>
#include <string>

namespace berth::session {

/// Whose session and which. An empty `session` is an unnamed one: it ends with this server.
struct SessionId {
    std::string principal;
    std::string session;
    /// What the operator's key template made of it; empty with the default template, where
    /// principal and session are the key.
    std::string key;

    friend auto operator<=>(const SessionId&, const SessionId&) = default;
};

/// SHA-256 over principal and session, unambiguous ("a","bc" and "ab","c" differ): names the
/// session's folder, so no two sessions ever share one.
[[nodiscard]] std::string key_hash(const SessionId& id);

/// Of what key_hash() gives, in characters.
inline constexpr std::size_t key_size = 64;

} // namespace berth::session
