#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace berth::guest {

/// Calls `sync` once for each file system that one of the folders is on, with a descriptor there.
/// For how many it was done; a folder that is not there is passed over.
[[nodiscard]] std::uint32_t sync_file_systems(const std::vector<std::string>& paths,
                                              const std::function<bool(int)>& sync);

} // namespace berth::guest
