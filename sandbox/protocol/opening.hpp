#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// An opening is what a host sends first on a connection to a guest in a microVM: the hello and the
// request behind it. It passes through a log that is not the host's, so it is sealed
// (docs/adr/0016-e2b-channel.md): the log learns its length, and nobody changes it on the way.

namespace berth::protocol {

/// Of AES-256-GCM. The host makes it of its session's token; the guest has it in a file of root's,
/// without the token.
struct OpeningKey {
    std::array<unsigned char, 32> bytes{};
};

/// SHA-256("berth opening" ‖ token): whoever has the key does not have the token by it.
[[nodiscard]] OpeningKey opening_key(std::string_view token);

/// By how many bytes a sealed opening is longer: a nonce before it, a tag behind it.
inline constexpr std::size_t opening_overhead = 12 + 16;

/// Sealed for the machine of that generation alone: a snapshot of an older one under the same key
/// cannot open it. The nonce is random, so the same opening twice is not the same bytes; a key may
/// seal 2^32 of them, which is a call each millisecond for seven weeks. Throws std::system_error
/// where the kernel has no random bytes.
[[nodiscard]] std::string seal_opening(const OpeningKey& key, std::string_view generation,
                                       std::string_view opening);

/// What was sealed. Nothing where that was done with another key or for another generation, or
/// where a bit of it is not what it was; nothing of it is given out then.
[[nodiscard]] std::optional<std::string>
open_opening(const OpeningKey& key, std::string_view generation, std::string_view sealed);

} // namespace berth::protocol
