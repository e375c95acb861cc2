#include "sandbox/base/error.hpp"
#include "sandbox/local/doctor.hpp"
#include "sandbox/local/local_backend.hpp"
#include "sandbox/local/mount_rules.hpp"
#include "sandbox/local/own_folders.hpp"
#include "sandbox/local/privilege.hpp"
#include "sandbox/local/template_files.hpp"
#include "sandbox/local/template_rules.hpp"
#include "server/app.hpp"
#include "server/installation.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

using berth::server::Check;
using berth::server::Options;

/// With where the setting was made in what `check` throws.
void check_setting(const Options& options, std::string_view key, const std::function<void()>& check)
{
    const auto setting =
        std::find_if(options.settings.begin(), options.settings.end(),
                     [&](const berth::server::Setting& each) { return each.key == key; });
    try {
        check();
    } catch (const berth::Error& error) {
        throw berth::Error(berth::ErrorCode::invalid_argument,
                           std::string(error.what()) + " (" + setting->origin + ')', error.hint());
    }
}

/// Whether what runs in a sandbox is none of the host's users.
bool gives_own_uids()
{
    const berth::local::Settings usual;
    return ::geteuid() == 0 && berth::local::no_own_uids(usual.uid_base, usual.uid_count).empty();
}

/// At the start: else the first call would be the first to say so.
void check_places(const Options& options)
{
    const auto& sessions = options.sessions;
    const auto own = berth::local::own_folders(sessions.state_directory, options.workspace);
    std::vector<berth::local::Bind> shown;
    if (!sessions.template_name.empty()) {
        check_setting(options, "template", [&] {
            berth::local::check_template(sessions.template_name, sessions.mounts, own);
            shown = berth::local::find_template_files(sessions.template_name).binds;
        });
    }
    check_setting(options, "mount", [&] {
        (void)berth::local::checked_mounts(sessions.mounts, own, shown, gives_own_uids());
    });
}

std::shared_ptr<berth::sandbox::Backend> make_backend(const Options& options)
{
    const auto environment = berth::server::process_environment();
    return berth::local::make_backend(
        {.guest_program = berth::server::helper_program("berth-guest", environment),
         .launcher_program = berth::server::helper_program("berth-launcher", environment),
         .guest_in_launcher = true,
         .state_directory = options.sessions.state_directory,
         .workspace = options.workspace});
}

std::vector<Check> examine(const Options& options, berth::sandbox::Backend& backend)
{
    std::vector<Check> checks;
    const auto& sessions = options.sessions;
    for (auto& check :
         berth::local::run_doctor(backend, sessions.network, sessions.template_name)) {
        checks.push_back({.name = std::move(check.name),
                          .ok = check.ok,
                          .detail = std::move(check.detail),
                          .remedy = std::move(check.remedy)});
    }
    return checks;
}

} // namespace

int main(int argc, char** argv)
{
    return berth::server::run(argc, argv,
                              {.make_backend = make_backend,
                               .check = check_places,
                               .examine = examine,
                               .layers = berth::local::check_names});
}
