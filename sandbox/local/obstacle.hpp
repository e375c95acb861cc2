#pragma once

#include "sandbox/local/launch_spec.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace berth::local {

/// The steps of a launch that fail because something is where a mount is to go. The machine itself
/// can be made: with other mounts, or once that is out of the way.
inline constexpr const char* step_home = "home";     ///< an earlier machine of the session left it
inline constexpr const char* step_target = "target"; ///< it lies in another mount, on the host

struct Obstacle {
    const char* step; ///< step_home or step_target
    std::string text; ///< the mount, and what is in its way, by its path
};

/// What keeps the bind `index` of `binds`, those before it attached below the directory `root`,
/// from its target: a part of the path that is no folder, or a target of another kind than its
/// source (`directory`). Looks at each part by itself and follows no link. Nothing when it is none
/// of this. `shown`: so much of the target's path leads to `root` itself, as of the session's home
/// where that alone can be looked at.
[[nodiscard]] std::optional<Obstacle> find_obstacle(int root, const std::vector<Bind>& binds,
                                                    std::size_t index, bool directory,
                                                    std::size_t shown = 0);

} // namespace berth::local
