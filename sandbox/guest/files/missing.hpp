#pragma once

#include "sandbox/guest/call_context.hpp"

#include <string>

namespace berth::guest {

/// Says why `path` (absolute, from absolute_path()) could not be opened. For what is missing the
/// hint names the first component that does not exist and the entry nearest to it. Nothing is told
/// about directories that reading tools may not touch: they answer Error(invalid_path).
[[noreturn]] void throw_open_error(int error, const std::string& path, const CallContext& context);

} // namespace berth::guest
