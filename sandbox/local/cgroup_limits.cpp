#include "sandbox/local/cgroup_limits.hpp"

#include "sandbox/base/io.hpp"
#include "sandbox/local/cgroup_files.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace berth::local {

using cgroup::try_write;

namespace {

bool is_there(const std::string& path)
{
    return ::access(path.c_str(), F_OK) == 0;
}

/// Nothing where it cannot be read.
std::optional<std::uint64_t> number_in(std::string_view text)
{
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() ? std::optional(number) : std::nullopt;
}

std::string content_of(const std::string& path)
{
    constexpr std::size_t longest = 64UL * 1024;
    try {
        return read_file_limited(AT_FDCWD, path, longest);
    } catch (const std::exception&) {
        return {};
    }
}

std::optional<std::uint64_t> field_of(const std::string& statistics, std::string_view name)
{
    const std::string line = '\n' + std::string(name) + ' ';
    const auto found = ('\n' + statistics).find(line);
    return found == std::string::npos
               ? std::nullopt
               : number_in(std::string_view(statistics).substr(found + line.size() - 1));
}

/// Without what the kernel would drop at once: the cache of files.
std::optional<std::uint64_t> memory_in_use(const std::string& commands)
{
    const auto all = number_in(content_of(commands + "/memory.current"));
    const auto statistics = content_of(commands + "/memory.stat");
    const auto files = field_of(statistics, "file");
    const auto shared = field_of(statistics, "shmem");
    if (!all || !files || !shared) {
        return all;
    }
    const auto cache = *files - std::min(*files, *shared);
    return *all - std::min(*all, cache);
}

/// Of v1.
bool set_memory_and_swap(const std::string& limit, const std::string& with_swap,
                         std::uint64_t bytes)
{
    const auto text = std::to_string(bytes);
    if (!is_there(with_swap)) { // no swap accounting
        return try_write(limit, text);
    }
    // Not for a moment may the first be above the second.
    const bool raised = number_in(content_of(with_swap)).value_or(0) < bytes;
    return try_write(raised ? with_swap : limit, text) &&
           try_write(raised ? limit : with_swap, text);
}

bool set_memory(const std::string& commands, std::uint64_t bytes)
{
    const auto text = std::to_string(bytes);
    if (is_there(commands + "/memory.max")) {
        const auto used = memory_in_use(commands);
        return used && *used <= bytes && try_write(commands + "/memory.max", text);
    }
    // Below what is used v1 answers EBUSY.
    const std::string limit = commands + "/memory.limit_in_bytes";
    const std::string with_swap = commands + "/memory.memsw.limit_in_bytes";
    const std::string of_tcp = commands + "/memory.kmem.tcp.limit_in_bytes"; // counted apart
    const auto tcp_before = content_of(of_tcp);
    if (!is_there(limit) || (is_there(of_tcp) && !try_write(of_tcp, text))) {
        return false;
    }
    if (set_memory_and_swap(limit, with_swap, bytes)) {
        return true;
    }
    if (!tcp_before.empty()) {
        (void)try_write(of_tcp, tcp_before); // else it would be changed in part, and told as not
    }
    return false;
}

bool set_pids(const std::string& commands, std::uint32_t most)
{
    const std::string limit = commands + "/pids.max";
    const auto used = number_in(content_of(commands + "/pids.current"));
    return used && *used <= most && is_there(limit) && try_write(limit, std::to_string(most));
}

/// Of the guest too, which searches files for the session.
bool set_cpus(const std::string& session, double cpus)
{
    const auto quota = cgroup::cpu_quota(cpus);
    const auto set = [](const std::string& path, std::uint64_t microseconds) {
        const auto text = std::to_string(microseconds);
        const std::string v2 = path + "/cpu.max";
        return is_there(v2) ? try_write(v2, text + ' ' + std::string(cgroup::cpu_period))
                            : try_write(path + "/cpu.cfs_quota_us", text);
    };
    // Not among the limits that are told: what a session has beside others.
    try_write(session + "/cpu.weight", std::to_string(cgroup::cpu_weight(quota)));
    try_write(session + "/cpu.shares", std::to_string(cgroup::cpu_shares(quota)));
    cgroup::weigh_disk(session, quota);
    return set(session + "/cmds", quota) && set(session + "/guest", cgroup::guest_quota(quota));
}

} // namespace

sandbox::ChangedLimits change_cgroup_limits(const std::vector<std::string>& sessions,
                                            const sandbox::Limits& limits)
{
    sandbox::ChangedLimits changed;
    for (const auto& session : sessions) {
        const std::string commands = session + "/cmds";
        changed.memory = set_memory(commands, limits.memory) || changed.memory;
        changed.pids = set_pids(commands, limits.pids) || changed.pids;
        changed.cpus = set_cpus(session, limits.cpus) || changed.cpus;
    }
    return changed;
}

} // namespace berth::local
