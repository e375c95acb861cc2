#include "sandbox/guest/wiping.hpp"

#include "sandbox/base/sanitizer.hpp"

#include <array>

#include <string.h> // NOLINT(modernize-deprecated-headers): explicit_bzero

namespace berth::guest {
namespace {

constinit thread_local bool wiping = false;

} // namespace

void wipe_what_is_freed() noexcept
{
    wiping = true;
}

bool wipes_what_is_freed() noexcept
{
    return wiping;
}

[[gnu::noinline]] void wipe_stack() noexcept
{
    if constexpr (!has_sanitizer) {
        std::array<char, 16UL * 1024> below; // NOLINT(cppcoreguidelines-pro-type-member-init)
        ::explicit_bzero(below.data(), below.size());
    }
}

} // namespace berth::guest
