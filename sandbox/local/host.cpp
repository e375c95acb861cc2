#include "sandbox/local/host.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/real_path.hpp"
#include "sandbox/local/runtime_folder.hpp"
#include "sandbox/state_directory.hpp"

namespace berth::local {

Host look_at_host(const Settings& settings, const CgroupLayout& cgroups, bool privileged)
{
    Host host;
    host.state_fd = sandbox::open_state_directory(settings.state_directory);
    const auto state = real_path(settings.state_directory);
    if (!state) {
        throw_errno("resolve " + settings.state_directory);
    }
    host.state = *state;
    host.runtime = runtime_folder(host.state, privileged);
    host.cgroups = cgroups;
    host.programs = std::make_unique<ProgramFinder>(host.state, settings.workspace, host.runtime);
    return host;
}

} // namespace berth::local
