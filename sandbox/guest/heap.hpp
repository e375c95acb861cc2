#pragma once

#include "sandbox/base/sanitizer.hpp"

#include <malloc.h>

namespace berth::guest {

/// What was freed goes back to the host. Any thread. Not under a sanitizer: it has a heap of its
/// own, and glibc's, which nothing has set up there, must not be trimmed by two threads at once.
inline void give_back_freed_memory() noexcept
{
    if constexpr (!has_sanitizer) {
        ::malloc_trim(0);
    }
}

} // namespace berth::guest
