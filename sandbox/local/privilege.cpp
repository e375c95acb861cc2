#include "sandbox/local/privilege.hpp"

#include "sandbox/base/io.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <exception>
#include <sstream>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <linux/capability.h>

namespace berth::local {
namespace {

constexpr std::size_t max_file = 64UL * 1024;

/// Mounts and namespaces; identity maps; the files and processes of a session, which belong to
/// another uid.
constexpr std::array needed{
    std::pair{"CAP_CHOWN", CAP_CHOWN},        std::pair{"CAP_DAC_OVERRIDE", CAP_DAC_OVERRIDE},
    std::pair{"CAP_FOWNER", CAP_FOWNER},      std::pair{"CAP_KILL", CAP_KILL},
    std::pair{"CAP_SETGID", CAP_SETGID},      std::pair{"CAP_SETUID", CAP_SETUID},
    std::pair{"CAP_SYS_ADMIN", CAP_SYS_ADMIN}};

std::uint64_t effective_capabilities(const std::string& status)
{
    constexpr std::string_view key = "CapEff:\t";
    const auto at = status.find(key);
    std::uint64_t set = 0;
    if (at != std::string::npos) {
        const char* const digits = status.data() + at + key.size();
        std::from_chars(digits, status.data() + status.size(), set, 16);
    }
    return set;
}

/// Whether a uid_map or gid_map has the whole range. A range that is spread over two lines of it
/// counts as missing: such maps are not made by anybody.
bool contains(const std::string& map, std::uint64_t first, std::uint64_t count)
{
    std::istringstream lines(map);
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

} // namespace

std::string no_own_uids(unsigned uid_base, unsigned uid_count, const std::string& root)
{
    const std::string self = root + "/proc/self/";
    try {
        const auto set =
            effective_capabilities(read_file_limited(AT_FDCWD, self + "status", max_file));
        for (const auto& [name, number] : needed) {
            if ((set >> static_cast<unsigned>(number) & 1U) == 0) {
                return std::string("berth has no ") + name;
            }
        }
        for (const char* map : {"uid_map", "gid_map"}) {
            if (!contains(read_file_limited(AT_FDCWD, self + map, max_file), uid_base, uid_count)) {
                return "the ids from " + std::to_string(uid_base) +
                       " on do not exist in this user namespace";
            }
        }
    } catch (const std::exception& error) {
        return error.what();
    }
    return {};
}

} // namespace berth::local
