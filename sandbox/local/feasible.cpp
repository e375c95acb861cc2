#include "sandbox/local/feasible.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/is_in.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/blockers.hpp"
#include "sandbox/local/environment.hpp"
#include "sandbox/local/failure.hpp"
#include "sandbox/local/launch_spec.hpp"
#include "sandbox/local/mount_rules.hpp"
#include "sandbox/local/obstacle.hpp"
#include "sandbox/local/programs.hpp"
#include "sandbox/local/session_folder.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

namespace berth::local {
namespace {

bool is_directory(const std::string& path)
{
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// `mounts`: parents first. Commands go on meanwhile, and may put something in the way later.
void require_way_through_home(const std::string& home, const std::vector<sandbox::Mount>& mounts)
{
    const UniqueFd folder(::open(home.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder) {
        return; // it is made with the machine
    }
    std::vector<Bind> binds{{.source = home, .target = std::string(inner_home), .late = true}};
    for (const auto& mount : mounts) {
        const bool in_another = std::any_of(binds.begin() + 1, binds.end(), [&](const Bind& bind) {
            return is_in(mount.target, bind.target);
        });
        binds.push_back({.source = mount.source, .target = mount.target});
        if (in_another || !is_in(mount.target, inner_home)) {
            continue; // checked_mounts() has looked there
        }
        const auto obstacle = find_obstacle(folder.get(), binds, binds.size() - 1,
                                            is_directory(mount.source), inner_home.size());
        if (obstacle) {
            throw Failure(obstacle->step, 0, obstacle->text);
        }
    }
}

void require_feasible(const Host& host, const sandbox::MachineSpec& spec, bool privileged)
{
    const auto programs = host.programs->find(spec.template_name, spec.mounts);
    const auto checked =
        checked_mounts(spec.mounts, host.programs->own(), programs->files.binds, privileged);
    require_way_through_home(SessionFolder::find_home(host.state, spec.key_hash), checked.mounts);
}

} // namespace

sandbox::Availability feasible(const Host& host, const sandbox::MachineSpec& spec, bool privileged)
{
    try {
        require_feasible(host, spec, privileged);
        return {.available = true};
    } catch (const Error& error) {
        return {.reason = error.what(), .remedy = error.hint()};
    } catch (const std::exception& error) {
        const auto blocker = explain(to_result(error, "server"), "", spec.session);
        return {.reason = blocker.reason, .remedy = blocker.remedy};
    }
}

} // namespace berth::local
