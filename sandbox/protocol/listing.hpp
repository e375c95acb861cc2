#pragma once

#include <cstdint>

namespace berth::protocol {

/// Of a directory with more entries only the first ones by name can be listed: which come later is
/// known only to who has all names in memory.
inline constexpr std::uint64_t max_listed_entries = 100'000;

} // namespace berth::protocol
