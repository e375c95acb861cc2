#pragma once

#include "sandbox/base/sanitizer.hpp"

#include <cstddef>
#include <cstdlib>

#include <malloc.h>

// glibc's, for a thread that ends. Hidden: null where that is not linked statically.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): its name
extern "C" [[gnu::weak]] void __malloc_arena_thread_freeres();

namespace berth::guest {

/// What was freed goes back to the host. Any thread. Not under a sanitizer: it has a heap of its
/// own, and glibc's, which nothing has set up there, must not be trimmed by two threads at once.
inline void give_back_freed_memory() noexcept
{
    if constexpr (!has_sanitizer) {
        ::malloc_trim(0);
    }
}

/// From here on what this thread frees is free at once, and not kept for its own next allocation of
/// that size: such blocks lie anywhere, and in a heap that shall be small each keeps a page. Of a
/// process with one thread; where the C library has no such thing nothing happens.
inline void free_at_once() noexcept
{
    if (!has_sanitizer && &__malloc_arena_thread_freeres != nullptr) {
        __malloc_arena_thread_freeres();
        // Where the cache itself was begins a page of the C library's own: that stays as it is.
        constexpr std::size_t size_of_cache = 648;
        [[maybe_unused]] static const void* const kept = std::malloc(size_of_cache);
    }
}

} // namespace berth::guest
