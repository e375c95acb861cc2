#include "sandbox/guest/startup.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/heap.hpp"
#include "sandbox/protocol/wire.hpp"

#include <climits>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest {
namespace {

constexpr off_t max_config_size = 1024UL * 1024;

std::vector<int> descriptors_of(const protocol::GuestConfig& config)
{
    std::vector<int> all = {config.listen_fd,          config.lifetime_fd,    config.ready_fd,
                            config.commands_cgroup_fd, config.v1_freezer_fd,  config.oom_events_fd,
                            config.parting_fd,         config.pids_events_fd, config.cpu_stat_fd,
                            config.denials_fd};
    all.insert(all.end(), config.v1_tasks_fds.begin(), config.v1_tasks_fds.end());
    std::erase_if(all, [](int fd) { return fd < 0; });
    std::sort(all.begin(), all.end());
    return all;
}

void make_path(const std::string& path, mode_t mode)
{
    for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
        const std::string part = path.substr(0, slash);
        if (::mkdir(part.c_str(), mode) != 0 && errno != EEXIST && errno != EROFS) {
            throw errno_error(errno, "make " + part);
        }
        if (slash == std::string::npos) {
            return;
        }
    }
}

/// By its effective ids, which decide about files. Its real ones stay root's: no command of the
/// user may send it a signal, it may send one to whatever a command has become, and it can begin
/// one.
void work_as(const protocol::UserIds& user)
{
    const std::vector<gid_t> groups(user.groups.begin(), user.groups.end());
    if (::setgroups(groups.size(), groups.data()) != 0 || ::setegid(user.group) != 0 ||
        ::seteuid(user.user) != 0) {
        throw_errno("become the session's user");
    }
}

} // namespace

protocol::GuestConfig read_config(int fd)
{
    const UniqueFd owned(fd);
    struct stat status{};
    if (::fstat(fd, &status) != 0) {
        throw_errno("stat the guest's config");
    }
    if (status.st_size > max_config_size) {
        throw Error(ErrorCode::too_large, "the guest's config is too large");
    }
    // As large as the file, not as large as one may be: to clear 1 MiB takes half a millisecond.
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    bytes.resize(read_full(fd, bytes.data(), bytes.size()));
    auto config = protocol::decode<protocol::GuestConfig>(bytes);
    ::explicit_bzero(bytes.data(), bytes.size());
    if (config.listen_fd < 0) {
        throw Error(ErrorCode::invalid_argument, "the guest's config names no socket");
    }
    for (const int wanted : descriptors_of(config)) {
        if (wanted <= 2 || wanted == fd || ::fcntl(wanted, F_GETFD) < 0) {
            throw Error(ErrorCode::invalid_argument, "the guest's config names descriptor " +
                                                         std::to_string(wanted) +
                                                         ", which it was not given");
        }
    }
    return config;
}

void keep_only_descriptors_of(const protocol::GuestConfig& config)
{
    // A descriptor that came along by mistake could be a directory outside of the root, from which
    // ".." climbs out.
    unsigned next = 3;
    for (const int fd : descriptors_of(config)) {
        const auto keep = static_cast<unsigned>(fd);
        if (keep > next) {
            ::close_range(next, keep - 1, 0);
        }
        next = std::max(next, keep + 1);
        ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    ::close_range(next, UINT_MAX, 0);
    for (int fd = 0; fd <= 2; ++fd) {
        if (::fcntl(fd, F_GETFD) < 0) {
            (void)!::open("/dev/null", O_RDWR); // NOLINT(android-cloexec-open): stays for children
        }
    }
}

void confine_process(const std::optional<protocol::UserIds>& run_as)
{
    // Commands share the guest's uid: a dumpable guest could be traced by them and its token read.
    ::prctl(PR_SET_DUMPABLE, 0);
    if (!run_as) {
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    }
    if (::getpid() != 1 && ::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
        throw_errno("become a subreaper");
    }
    // Blocked, never handled: a command may send the guest any signal, and none may have an effect.
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    ::umask(022);
    // One heap for all threads and large blocks as maps of their own: both go back when freed.
    ::mallopt(M_ARENA_MAX, 1);
    ::mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    ::mallopt(M_TRIM_THRESHOLD, 256 * 1024);
    if (run_as) {
        work_as(*run_as);
        ::prctl(PR_SET_DUMPABLE, 0); // which a change of ids leaves to fs.suid_dumpable
    }
}

// Not inlined: below its frame nothing is in use.
[[gnu::noinline]] void release_idle_memory() noexcept
{
    give_back_freed_memory();
    constexpr std::uintptr_t used_below = 512;    // the red zone, and what madvise itself calls
    constexpr std::uintptr_t size = 128UL * 1024; // no more than the gap that is kept below
    const auto page = static_cast<std::uintptr_t>(::getpagesize());
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    const std::uintptr_t end = (here - used_below) / page * page;
    // Where the stack is smaller the rest is no memory, which is told, after all of it was done.
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the stack has no other name
    (void)::madvise(reinterpret_cast<void*>(end - size), size, MADV_DONTNEED);
}

void make_directories(const protocol::GuestConfig& config)
{
    make_path(config.home, 0755);
    if (!config.spill_directory.empty()) {
        make_path(config.spill_directory, 0700);
    }
}

} // namespace berth::guest
