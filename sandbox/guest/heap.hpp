#pragma once

#include <malloc.h>

namespace berth::guest {

/// What was freed goes back to the host. Any thread. Not under a sanitizer: it has a heap of its
/// own, and glibc's, which nothing has set up there, must not be trimmed by two threads at once.
inline void give_back_freed_memory() noexcept
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return;
#endif
#endif
    ::malloc_trim(0);
}

} // namespace berth::guest
