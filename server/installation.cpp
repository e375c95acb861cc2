#include "server/installation.hpp"

#include <array>
#include <filesystem>
#include <system_error>

#include <unistd.h>

namespace berth::server {

std::string helper_program(const std::string& name, const Environment& environment)
{
    if (const auto directory = environment("BERTH_LIBEXEC_DIR"); directory && !directory->empty()) {
        return *directory + '/' + name;
    }
    namespace fs = std::filesystem;
    std::error_code error;
    const auto here = fs::read_symlink("/proc/self/exe", error).parent_path();
    const std::array candidates = {
        here / "../libexec/berth" / name,
        here / "../sandbox/guest" / name,
        here / "../sandbox/local/launcher" / name,
        here / "../sandbox/filter/proxy" / name,
        here / "../../sandbox/filter/proxy" / name,
        here / "../../sandbox/guest" / name, // of the test programs of a build tree
        here / "../../sandbox/local/launcher" / name,
    };
    for (const auto& candidate : candidates) {
        if (::access(candidate.c_str(), X_OK) == 0) {
            return candidate.lexically_normal().string();
        }
    }
    return candidates.front().lexically_normal().string();
}

} // namespace berth::server
