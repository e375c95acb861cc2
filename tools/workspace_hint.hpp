#pragma once

#include "sandbox/base/error.hpp"
#include "tools/tool.hpp"

#include <string>

namespace berth::tools {

/// For what the workspace does not have at `path`, normalised: not_found with `message`, and which
/// file was probably meant.
[[nodiscard]] Error missing_in_workspace(Context& context, const std::string& path,
                                         const std::string& message);

} // namespace berth::tools
