#pragma once

#include <cstddef>
#include <string>
#include <string_view>

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

/// Whether it may be one of those: so many lower-case hex digits. Any other that comes from outside
/// (shared books, a folder, a person) names no session, and may be the way to another folder.
[[nodiscard]] bool is_key(std::string_view text) noexcept;

} // namespace berth::session
