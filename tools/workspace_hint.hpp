#pragma once

#include "sandbox/base/error.hpp"
#include "tools/tool.hpp"

#include <string>

namespace berth::tools {

/// For what the workspace does not have at `path`, normalised: not_found with `message`, and which
/// file was probably meant.
[[nodiscard]] Error missing_in_workspace(Context& context, const std::string& path,
                                         const std::string& message);

/// Error(is_directory) in place of `cause`: with the files that are in the folder `path`.
[[nodiscard]] Error folder_not_deleted(Context& context, const std::string& path,
                                       const Error& cause);

} // namespace berth::tools
