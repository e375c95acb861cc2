#include "sandbox/local/launcher/seccomp.hpp"

#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/failure.hpp"

#include <seccomp.h>

#include <initializer_list>

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* step = "seccomp";
// pid_t and int arguments are the low half of a register, and the kernel ignores the rest: a rule
// on all 64 bits would be walked around by setting one of the upper ones.
constexpr scmp_datum_t low_half = 0xFFFFFFFFU;
// ioprio_set(2). Debian's linux/ioprio.h of 6.1.192 is no C++: it names a parameter "class".
constexpr scmp_datum_t ioprio_who_process = 1;
constexpr scmp_datum_t ioprio_who_pgrp = 2;
constexpr scmp_datum_t ioprio_who_user = 3;

class Filter {
  public:
    Filter() : context_(::seccomp_init(SCMP_ACT_ALLOW))
    {
        require(context_ != nullptr, step, "seccomp_init");
        // int 0x80 and x32 reach the same calls under other numbers, past every rule.
        check(::seccomp_attr_set(context_, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)));
    }

    ~Filter() { ::seccomp_release(context_); }

    Filter(const Filter&) = delete;
    Filter& operator=(const Filter&) = delete;

    void deny(int call, std::initializer_list<scmp_arg_cmp> arguments, int error = EPERM)
    {
        check(::seccomp_rule_add_array(context_, SCMP_ACT_ERRNO(static_cast<unsigned>(error)), call,
                                       static_cast<unsigned>(arguments.size()), arguments.begin()));
    }

    [[nodiscard]] FilterProgram program() const
    {
        const UniqueFd file(::memfd_create("berth-filter", MFD_CLOEXEC));
        require(file.valid(), step, "memfd_create");
        check(::seccomp_export_bpf(context_, file.get()));
        const off_t end = ::lseek(file.get(), 0, SEEK_END);
        require(end > 0, step, "size the system call filter");
        const auto size = static_cast<std::size_t>(end);
        FilterProgram program(size / sizeof(sock_filter));
        require(::pread(file.get(), program.data(), size, 0) == end, step,
                "read the system call filter");
        return program;
    }

  private:
    static void check(int result)
    {
        if (result != 0) {
            throw Failure(step, -result, "build the system call filter");
        }
    }

    scmp_filter_ctx context_;
};

scmp_arg_cmp is(unsigned argument, scmp_datum_t value)
{
    return {argument, SCMP_CMP_MASKED_EQ, low_half, value};
}

scmp_arg_cmp not_zero(unsigned argument)
{
    return {argument, SCMP_CMP_NE, 0, 0};
}

scmp_arg_cmp has_flag(unsigned argument, scmp_datum_t flag)
{
    return {argument, SCMP_CMP_MASKED_EQ, flag, flag};
}

void protect_guest(Filter& filter)
{
    // RLIMIT_CPU 1 on pid 1 kills it, RLIMIT_NOFILE 0 makes it deaf. Only other processes' limits
    // are closed, and only changing them: a shell's ulimit works on itself.
    filter.deny(SCMP_SYS(prlimit64), {not_zero(0), not_zero(2)});
    for (const int call : {SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setscheduler),
                           SCMP_SYS(sched_setparam), SCMP_SYS(sched_setattr)}) {
        filter.deny(call, {is(0, 1)});
    }
    // The guest leads process group 1; "all processes of the user" always includes it.
    filter.deny(SCMP_SYS(setpriority), {is(0, PRIO_PROCESS), is(1, 1)});
    filter.deny(SCMP_SYS(setpriority), {is(0, PRIO_PGRP), is(1, 1)});
    filter.deny(SCMP_SYS(setpriority), {is(0, PRIO_USER)});
    filter.deny(SCMP_SYS(ioprio_set), {is(0, ioprio_who_process), is(1, 1)});
    filter.deny(SCMP_SYS(ioprio_set), {is(0, ioprio_who_pgrp), is(1, 1)});
    filter.deny(SCMP_SYS(ioprio_set), {is(0, ioprio_who_user)});
}

void close_keyrings(Filter& filter)
{
    // The session keyring of whoever started the server comes along through fork and exec, and who
    // possesses a keyring may read its keys: a login's Kerberos tickets or file system keys. No
    // namespace holds that back.
    for (const int call : {SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key)}) {
        filter.deny(call, {});
    }
}

void forbid_user_namespaces(Filter& filter)
{
    filter.deny(SCMP_SYS(unshare), {has_flag(0, CLONE_NEWUSER)});
    filter.deny(SCMP_SYS(clone), {has_flag(0, CLONE_NEWUSER)});
    // Its flags are in memory, where no filter can look; libraries fall back to clone(2). The guest
    // then cannot start commands into their cgroups either, so this is the last resort.
    filter.deny(SCMP_SYS(clone3), {}, ENOSYS);
}

} // namespace

FilterProgram compile_filter(bool forbid_namespaces)
{
    Filter filter;
    protect_guest(filter);
    close_keyrings(filter);
    if (forbid_namespaces) {
        forbid_user_namespaces(filter);
    }
    return filter.program();
}

void install_filter(const FilterProgram& program)
{
    sock_fprog filter{};
    filter.len = static_cast<unsigned short>(program.size());
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the kernel only reads it
    filter.filter = const_cast<sock_filter*>(program.data());
    require(!program.empty() && sys::seccomp_set_filter(filter) == 0, step,
            "install the system call filter");
}

} // namespace berth::local
