#include "sandbox/local/launcher/namespace_owner.hpp"

#include "sandbox/local/failure.hpp"
#include "sandbox/local/launcher/thread_number.hpp"

#include <array>
#include <cerrno>

#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr uid_t no_change = static_cast<uid_t>(-1);

// Who has the owner's uid in the namespace around has every capability in this one. Nobody has: of
// the upper half of all numbers distributions and container engines give out none, and only root
// itself could take one.
constexpr uid_t first_owner = 0xE0000000U;

using Capabilities = std::array<__user_cap_data_struct, 2>;

constexpr __user_cap_header_struct own_header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};

void become_root_again()
{
    require(::setresuid(no_change, 0, no_change) == 0, "namespaces", "be root again");
}

/// Or is as before.
void take_effective_uid(uid_t uid)
{
    auto header = own_header;
    Capabilities had{};
    if (sys::capget(header, had.data()) != 0 ||
        (had[0].effective & (1U << unsigned{CAP_SYS_PTRACE})) == 0 ||
        ::setresuid(no_change, uid, no_change) != 0) {
        return;
    }
    // With it went what root may do. Its files stay root's to use, in the child too.
    ::setfsuid(0);
    if (sys::capset(header, had.data()) != 0) {
        become_root_again();
    }
}

} // namespace

pid_t clone_with_own_account(const clone_args& args)
{
    const int dumpable = ::prctl(PR_GET_DUMPABLE);
    take_effective_uid(first_owner + static_cast<uid_t>(::getpid()));
    // Which each change of ids takes away: the child's files in /proc would not be its own.
    (void)::prctl(PR_SET_DUMPABLE, dumpable);
    const pid_t pid = clone_with_thread_number(args);
    if (pid == 0) {
        return pid;
    }
    const int error = errno;
    become_root_again();
    (void)::prctl(PR_SET_DUMPABLE, dumpable);
    errno = error;
    return pid;
}

} // namespace berth::local
