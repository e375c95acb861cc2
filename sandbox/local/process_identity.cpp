#include "sandbox/local/process_identity.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/host_time.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/process_stat.hpp"
#include "sandbox/base/syscalls.hpp"

#include <cerrno>
#include <exception>
#include <system_error>

#include <fcntl.h>

namespace berth::local {

std::optional<std::uint64_t> start_time(pid_t pid)
{
    std::string stat;
    try {
        stat = read_file_limited(AT_FDCWD, "/proc/" + std::to_string(pid) + "/stat", 4096);
    } catch (const std::system_error& error) {
        if (error.code().value() == ENOENT || error.code().value() == ESRCH) {
            return std::nullopt;
        }
        throw;
    }
    const auto parsed = parse_process_stat(pid, stat);
    return parsed ? std::optional(parsed->start_time) : std::nullopt;
}

UniqueFd open_process(pid_t pid, std::uint64_t started, const std::string& boot)
{
    if (pid <= 1 || boot != boot_id()) {
        return {};
    }
    // The pidfd first, the check after: what it refers to can no longer change in between.
    UniqueFd process(sys::pidfd_open(pid, 0));
    if (!process) {
        if (errno == ESRCH || errno == EINVAL || errno == ENOENT) { // the others: now a thread's
            return {};
        }
        throw_errno("open process " + std::to_string(pid));
    }
    if (start_time(pid) != started) {
        return {};
    }
    // A process that has ended but was not waited for is readable, and as good as gone.
    return wait_readable(process.get(), Deadline::after({})) ? UniqueFd{} : std::move(process);
}

bool process_has_ended(pid_t pid, std::uint64_t started, const std::string& boot)
{
    if (pid <= 1 || boot.empty()) {
        return false;
    }
    try {
        return !open_process(pid, started, boot);
    } catch (const std::exception&) {
        return false;
    }
}

} // namespace berth::local
