#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace berth::guest {

/// In bytes, as statfs(2) tells them: of a home that is a project of its own (ADR 18) the
/// project's, which is never told to have more than its limit.
struct HomeRoom {
    std::uint64_t limit = 0;
    std::uint64_t used = 0;
    std::uint64_t left = 0; ///< for who has no privileges
    std::uint64_t free = 0;
};

/// Of any folder. Nothing when the kernel does not tell.
[[nodiscard]] std::optional<HomeRoom> room_of(const std::string& folder);

} // namespace berth::guest
