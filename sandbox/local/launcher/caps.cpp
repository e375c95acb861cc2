#include "sandbox/local/launcher/caps.hpp"

#include "sandbox/base/syscalls.hpp"
#include "sandbox/local/failure.hpp"

#include <array>

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* step = "caps";

} // namespace

void drop_bounding_set()
{
    // Up to the kernel's own last one, which may be newer than the headers'.
    for (unsigned long capability = 0; capability < 64; ++capability) {
        if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
            require(errno == EINVAL && capability > CAP_AUDIT_READ, step, "PR_CAPBSET_DROP");
            break;
        }
    }
}

void drop_privileges()
{
    require(::prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
                                           SECBIT_NO_CAP_AMBIENT_RAISE |
                                           SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED) == 0,
            step, "PR_SET_SECUREBITS");
    require(::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0, step,
            "PR_CAP_AMBIENT_CLEAR_ALL");
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    const std::array<__user_cap_data_struct, 2> none{};
    require(sys::capset(header, none.data()) == 0, step, "capset");
    require(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, step, "PR_SET_NO_NEW_PRIVS");
}

} // namespace berth::local
