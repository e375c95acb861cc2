// The guest's own `delete`, of its program alone: see wiping.hpp.

#include "sandbox/guest/wiping.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <malloc.h>
#include <string.h> // NOLINT(modernize-deprecated-headers): explicit_bzero
#include <sys/mman.h>

namespace {

/// From here on the pages are given back instead: of a large block that was only reserved, none is
/// there to be overwritten.
constexpr std::size_t large = 128UL * 1024;
constexpr std::uintptr_t page = 4096;

void wipe(void* block) noexcept
{
    const std::size_t size = ::malloc_usable_size(block);
    if (size < large) {
        ::explicit_bzero(block, size);
        return;
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(block);
    const auto first = (begin + page - 1) & ~(page - 1);
    const auto last = (begin + size) & ~(page - 1);
    // NOLINTBEGIN(performance-no-int-to-ptr): page borders
    ::explicit_bzero(block, first - begin);
    if (::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED) != 0) {
        ::explicit_bzero(reinterpret_cast<void*>(first), last - first); // of larger pages
    }
    ::explicit_bzero(reinterpret_cast<void*>(last), begin + size - last);
    // NOLINTEND(performance-no-int-to-ptr)
}

void wipe_and_free(void* block) noexcept
{
    if (block != nullptr && berth::guest::wipes_what_is_freed()) {
        wipe(block);
    }
    std::free(block); // NOLINT(cppcoreguidelines-no-malloc): as the C++ library's has it
}

} // namespace

// The others of the C++ library call one of these.
void operator delete(void* block) noexcept
{
    wipe_and_free(block);
}

void operator delete(void* block, std::size_t /*size*/) noexcept
{
    wipe_and_free(block);
}

void operator delete(void* block, std::align_val_t /*alignment*/) noexcept
{
    wipe_and_free(block);
}
