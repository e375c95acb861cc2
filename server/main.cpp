#include "sandbox/base/error.hpp"
#include "sandbox/local/doctor.hpp"
#include "sandbox/local/local_backend.hpp"
#include "sandbox/local/mount_rules.hpp"
#include "sandbox/local/own_folders.hpp"
#include "server/app.hpp"
#include "server/installation.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using berth::server::Check;
using berth::server::Options;

/// At the start: else the first call would be the first to say so.
void check_mounts(const Options& options)
{
    const auto setting =
        std::find_if(options.settings.begin(), options.settings.end(),
                     [](const berth::server::Setting& each) { return each.key == "mount"; });
    try {
        (void)berth::local::checked_mounts(
            options.sessions.mounts,
            berth::local::own_folders(options.sessions.state_directory, options.workspace));
    } catch (const berth::Error& error) {
        throw berth::Error(berth::ErrorCode::invalid_argument,
                           std::string(error.what()) + " (" + setting->origin + ')', error.hint());
    }
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
    for (auto& check : berth::local::run_doctor(backend, options.sessions.network)) {
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
                               .check = check_mounts,
                               .examine = examine,
                               .layers = berth::local::check_names});
}
