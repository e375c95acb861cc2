#include "sandbox/local/proc_self.hpp"

#include "sandbox/base/io.hpp"

#include <charconv>
#include <sstream>
#include <string_view>

#include <fcntl.h>
#include <sched.h>

namespace berth::local {
namespace {

std::string read_self(const std::string& root, const char* name)
{
    constexpr std::size_t max_file = 64UL * 1024;
    return read_file_limited(AT_FDCWD, root + "/proc/self/" + name, max_file);
}

} // namespace

std::uint64_t effective_capabilities(const std::string& root)
{
    const std::string status = read_self(root, "status");
    constexpr std::string_view key = "CapEff:\t";
    const auto at = status.find(key);
    std::uint64_t set = 0;
    if (at != std::string::npos) {
        const char* const digits = status.data() + at + key.size();
        std::from_chars(digits, status.data() + status.size(), set, 16);
    }
    return set;
}

long effective_id(const std::string& root, const char* kind)
{
    const std::string status = read_self(root, "status");
    const std::string key = "\n" + std::string(kind) + ":\t";
    const auto at = status.find(key);
    if (at == std::string::npos) {
        return -1;
    }
    std::istringstream numbers(status.substr(at + key.size()));
    long real = -1;
    long effective = -1;
    numbers >> real >> effective;
    return effective;
}

bool has_ids(const std::string& root, const char* map, std::uint64_t first, std::uint64_t count)
{
    std::istringstream lines(read_self(root, map));
    std::uint64_t inside = 0;
    std::uint64_t outside = 0;
    std::uint64_t size = 0;
    while (lines >> inside >> outside >> size) {
        if (first >= inside && first + count <= inside + size) {
            return true;
        }
    }
    return false;
}

bool is_realtime(const std::string& root)
{
    const std::string stat = read_self(root, "stat");
    // The name in parentheses is the process's own choice and may hold parentheses and spaces.
    std::istringstream fields(stat.substr(stat.rfind(')') + 1));
    constexpr int policy_field = 41; // proc_pid_stat(5); 3 is the first one after the name
    std::string field;
    for (int number = 3; number <= policy_field && fields >> field; ++number) {
    }
    return field == std::to_string(SCHED_FIFO) || field == std::to_string(SCHED_RR);
}

} // namespace berth::local
