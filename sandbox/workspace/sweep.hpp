#pragma once

#include "sandbox/workspace/area.hpp"
#include "sandbox/workspace/store.hpp"

namespace berth::workspace {

/// Removes the temporary files of writers that died: those whose mark nobody holds
/// (writer_area.hpp). Call with the exclusive lock. Throws std::system_error.
Swept sweep(const Area& area);

} // namespace berth::workspace
