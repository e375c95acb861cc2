#include "sandbox/local/processors.hpp"

#include <cstddef>
#include <cstring>

#include <sched.h>

namespace berth::local {
namespace {

/// Of more than 1024 processors nothing is known, and nothing is lost.
bool read_processors(pid_t process, cpu_set_t& set)
{
    return ::sched_getaffinity(process, sizeof set, &set) == 0;
}

std::string encoded(const cpu_set_t& set)
{
    std::string bytes(sizeof set, '\0');
    std::memcpy(bytes.data(), &set, sizeof set);
    return bytes;
}

} // namespace

std::string own_processors()
{
    cpu_set_t set;
    return read_processors(0, set) ? encoded(set) : std::string();
}

std::string keep_off_this_processor(pid_t process)
{
    cpu_set_t allowed;
    const int here = ::sched_getcpu();
    if (here < 0 || !read_processors(process, allowed)) {
        return {};
    }
    std::string before = encoded(allowed);
    CPU_CLR(static_cast<std::size_t>(here), &allowed);
    if (CPU_COUNT(&allowed) == 0 || ::sched_setaffinity(process, sizeof allowed, &allowed) != 0) {
        return {};
    }
    return before;
}

void give_processors_back(const std::string& processors, pid_t process) noexcept
{
    cpu_set_t set;
    if (processors.size() == sizeof set) {
        std::memcpy(&set, processors.data(), sizeof set);
        (void)::sched_setaffinity(process, sizeof set, &set);
    }
}

void share_processors(pid_t process) noexcept
{
    cpu_set_t set;
    if (read_processors(0, set)) {
        (void)::sched_setaffinity(process, sizeof set, &set);
    }
}

} // namespace berth::local
