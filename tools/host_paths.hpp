#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/base/error.hpp"
#include "tools/tool.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::tools {

/// Of a message that begins with a path which is not there, or may not be used: where the sandbox
/// has that path of the host. Nothing where it is below no mount's source, or below the target of
/// one, and so is the sandbox's own. Foreign text is shown as visible() does.
[[nodiscard]] std::optional<std::string> path_in_sandbox(std::string_view message,
                                                         const std::vector<sandbox::Mount>& mounts);

/// Of an error that begins with a path which is one of the host, below what is mounted: the same
/// with a hint that has the path by which the sandbox knows it, in front of its own: the sandbox
/// may have had a file of that name too. Any other error as it is.
[[nodiscard]] Error in_paths_of_sandbox(Context& context, const Error& error);

} // namespace berth::tools
