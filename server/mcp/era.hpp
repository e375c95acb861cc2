#pragma once

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <string>
#include <string_view>

namespace berth::mcp {

/// The revision that carries its version and capabilities in every request.
inline constexpr std::string_view modern_version = "2026-07-28";

/// The revisions that begin with `initialize`, newest first.
inline constexpr std::array<std::string_view, 4> legacy_versions = {"2025-11-25", "2025-06-18",
                                                                    "2025-03-26", "2024-11-05"};
/// The only one with batches.
inline constexpr std::string_view batch_version = "2025-03-26";

/// Whether clients of that revision know of icons beside names.
[[nodiscard]] bool has_icons(std::string_view version) noexcept;

inline constexpr int unsupported_protocol_version = -32022;

/// The key of a modern request's `_meta` that says its revision.
inline constexpr const char* version_key = "io.modelcontextprotocol/protocolVersion";

/// The same of what its client can.
inline constexpr const char* capabilities_key = "io.modelcontextprotocol/clientCapabilities";

enum class Era : unsigned char { legacy, modern };

/// Decided for each message by the protocol version in its `_meta`: present means modern. So both
/// eras can share a process, and a client may probe one and fall back to the other.
[[nodiscard]] Era era_of(const nlohmann::json& params);

/// The same of a request of that method: `initialize` is what an older client begins with, whatever
/// its `_meta` claims wrongly, as of a revision that is not spoken; only a whole envelope of the
/// modern one makes it a modern request, of a method that there is not. As the SDKs take it.
[[nodiscard]] Era era_of(std::string_view method, const nlohmann::json& params);

/// Checks what a modern request must carry. Throws rpc::ProtocolError: -32022 with `data` for a
/// version that is not spoken, whatever else the envelope has; -32602 for a malformed envelope.
void check_envelope(const nlohmann::json& params);

/// The answer to `initialize`: the client's version when it is spoken, else the newest.
[[nodiscard]] std::string negotiate(std::string_view requested);

} // namespace berth::mcp
