#include "sandbox/local/cgroup_files.hpp"

#include "sandbox/local/cgroup_tree.hpp"
#include "sandbox/local/failure.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local::cgroup {
namespace {

constexpr const char* step = "cgroup";
constexpr std::uint64_t whole = 100'000; ///< of cpu_period

} // namespace

std::string session_path(const std::string& base, const CgroupSpec& spec)
{
    return base + "/berth/" + spec.name;
}

std::string make_session_directory(const std::string& base, const CgroupSpec& spec)
{
    constexpr int tries = 100; // each of them lost to another session that began and ended
    std::string session = session_path(base, spec);
    const std::string all = base + "/berth";
    for (int i = 0; ::mkdir(session.c_str(), 0755) != 0; ++i) {
        if (errno == ENOENT && i < tries) { // nobody has one here, or the last has just gone
            require(::mkdir(all.c_str(), 0755) == 0 || errno == EEXIST, step, "make cgroup " + all);
            continue;
        }
        require(errno == EEXIST && i < tries, step, "make cgroup " + session);
        kill_cgroup(session);
        require(remove_cgroup(session, Deadline::after(std::chrono::seconds(2))), step,
                "remove the cgroup that is left, " + session);
    }
    return session;
}

void make_directory(const std::string& path)
{
    require(::mkdir(path.c_str(), 0755) == 0, step, "make cgroup " + path);
}

bool try_write(const std::string& path, std::string_view value)
{
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return fd &&
           ::write(fd.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
}

void write(const std::string& path, std::string_view value)
{
    require(try_write(path, value), step, "write " + path);
}

UniqueFd open_file(const std::string& path, int flags)
{
    UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC));
    require(fd.valid(), step, "open " + path);
    return fd;
}

std::uint64_t cpu_quota(double cpus)
{
    return static_cast<std::uint64_t>(std::llround(cpus * static_cast<double>(whole)));
}

std::uint64_t cpu_weight(std::uint64_t quota)
{
    constexpr std::uint64_t one = 100;
    return std::clamp<std::uint64_t>(quota * one / whole, 1, 10'000); // the kernel's bounds
}

std::uint64_t cpu_shares(std::uint64_t quota)
{
    constexpr std::uint64_t one = 1024;
    return std::clamp<std::uint64_t>(quota * one / whole, 2, 262'144);
}

void weigh_disk(const std::string& session, std::uint64_t quota)
{
    constexpr std::uint64_t most_of_bfq = 1000; // io.weight has the bounds of cpu.weight
    const auto weight = cpu_weight(quota);
    try_write(session + "/io.weight", std::to_string(weight));
    try_write(session + "/io.bfq.weight", std::to_string(std::min(weight, most_of_bfq)));
}

std::uint64_t guest_quota(std::uint64_t commands)
{
    return std::max(commands, whole);
}

} // namespace berth::local::cgroup
