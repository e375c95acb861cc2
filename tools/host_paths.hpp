#pragma once

#include "sandbox/base/error.hpp"
#include "tools/tool.hpp"

namespace berth::tools {

/// Of an error that begins with a path which is one of the host, below what is mounted: the same
/// with a hint that has the path by which the sandbox knows it. Any other error as it is.
[[nodiscard]] Error in_paths_of_sandbox(Context& context, const Error& error);

} // namespace berth::tools
