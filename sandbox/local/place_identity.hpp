#pragma once

#include <cstdint>
#include <string>

namespace berth::local {

/// Which file or folder is at a path, links followed. With the time of its birth, since the number
/// of a removed one is soon another's, which has lost every mount that lay on the first; where a
/// file system does not tell that time, device and number alone.
struct PlaceIdentity {
    bool found = false; ///< else the rest is 0
    std::uint64_t number = 0;
    std::uint32_t device_major = 0;
    std::uint32_t device_minor = 0;
    std::int64_t birth_seconds = 0;
    std::uint32_t birth_nanoseconds = 0;

    friend bool operator==(const PlaceIdentity&, const PlaceIdentity&) = default;
};

/// What cannot be looked at counts as not there.
[[nodiscard]] PlaceIdentity identity_at(const std::string& path) noexcept;

} // namespace berth::local
