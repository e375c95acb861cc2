#include "sandbox/placeholder.hpp"

#include "sandbox/base/sha256.hpp"

namespace berth::sandbox {

std::string placeholder_of(std::string_view token, std::string_view name)
{
    Sha256 digest;
    digest.update("placeholder\n");
    digest.update(token);
    digest.update("\n");
    digest.update(name);
    // Half of it does: nobody gains by guessing one.
    constexpr std::size_t digits = 32;
    return "berthplaceholder" + digest.finish().substr(0, digits);
}

} // namespace berth::sandbox
