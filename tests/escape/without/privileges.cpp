// In the place of sandbox/local/launcher/caps.cpp: the launcher that leaves every capability of the
// sandbox's own user namespace, over the exec of commands too, so that a test can see that what it
// tries works where nothing stops it. Never installed.

#include "sandbox/base/syscalls.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launcher/caps.hpp"

#include <array>
#include <cstdint>

#include <linux/capability.h>
#include <sys/prctl.h>

namespace berth::local {

void drop_bounding_set() {}

void drop_privileges()
{
    constexpr std::uint32_t half = ~std::uint32_t{0};
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    constexpr std::uint32_t upper = (1U << (CAP_LAST_CAP - 31U)) - 1;
    const std::array<__user_cap_data_struct, 2> all{
        __user_cap_data_struct{.effective = half, .permitted = half, .inheritable = half},
        __user_cap_data_struct{.effective = upper, .permitted = upper, .inheritable = upper}};
    require(sys::capset(header, all.data()) == 0, "caps", "capset");
    for (unsigned long capability = 0; capability <= CAP_LAST_CAP; ++capability) {
        require(::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) == 0, "caps",
                "PR_CAP_AMBIENT_RAISE");
    }
}

} // namespace berth::local
