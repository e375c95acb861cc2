#include "sandbox/local/privilege.hpp"

#include "sandbox/local/proc_self.hpp"

#include <array>
#include <exception>
#include <utility>

#include <linux/capability.h>

namespace berth::local {
namespace {

/// Mounts and namespaces; identity maps; the files and processes of a session, which belong to
/// another uid.
constexpr std::array needed{
    std::pair{"CAP_CHOWN", CAP_CHOWN},        std::pair{"CAP_DAC_OVERRIDE", CAP_DAC_OVERRIDE},
    std::pair{"CAP_FOWNER", CAP_FOWNER},      std::pair{"CAP_KILL", CAP_KILL},
    std::pair{"CAP_SETGID", CAP_SETGID},      std::pair{"CAP_SETUID", CAP_SETUID},
    std::pair{"CAP_SYS_ADMIN", CAP_SYS_ADMIN}};

} // namespace

std::string no_own_uids(unsigned uid_base, unsigned uid_count, const std::string& root)
{
    try {
        const auto set = effective_capabilities(root);
        for (const auto& [name, number] : needed) {
            if ((set >> static_cast<unsigned>(number) & 1U) == 0) {
                return std::string("berth has no ") + name;
            }
        }
        for (const char* map : {"uid_map", "gid_map"}) {
            if (!has_ids(root, map, uid_base, uid_count)) {
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
