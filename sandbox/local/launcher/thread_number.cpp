#include "sandbox/local/launcher/thread_number.hpp"

#include <cstdint>

#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace berth::local {

int* thread_number() noexcept
{
    int* address = nullptr; // Linux 3.5, with CONFIG_CHECKPOINT_RESTORE
    const bool known = ::prctl(PR_GET_TID_ADDRESS, &address) == 0 && address != nullptr;
    return known && *address == ::gettid() ? address : nullptr;
}

pid_t clone_with_thread_number(clone_args args) noexcept
{
    if (int* number = thread_number(); number != nullptr) {
        args.flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
        args.child_tid = reinterpret_cast<std::uintptr_t>(number);
    }
    return sys::clone3(args);
}

} // namespace berth::local
