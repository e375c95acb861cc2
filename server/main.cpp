#include "sandbox/base/error.hpp"
#include "sandbox/e2b/account.hpp"
#include "sandbox/e2b/box_request.hpp"
#include "sandbox/e2b/doctor.hpp"
#include "sandbox/e2b/e2b_backend.hpp"
#include "sandbox/e2b/filter_rules.hpp"
#include "sandbox/e2b/outbound_rules.hpp"
#include "sandbox/local/doctor.hpp"
#include "sandbox/local/local_backend.hpp"
#include "sandbox/local/mount_rules.hpp"
#include "sandbox/local/own_folders.hpp"
#include "sandbox/local/privilege.hpp"
#include "sandbox/local/template_files.hpp"
#include "sandbox/local/template_rules.hpp"
#include "sandbox/session/installation.hpp"
#include "server/app.hpp"
#include "server/installation.hpp"
#include "server/options/mount_roots.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
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

bool is_e2b(const Options& options)
{
    return options.backend == "e2b";
}

/// What E2B's firewall cannot keep.
void check_filter(const Options& options)
{
    if (options.sessions.network != berth::sandbox::Network::filtered) {
        return;
    }
    const auto& rules = options.sessions.filter; // of which none is a secret there
    const auto check = [&](std::string_view key, const berth::sandbox::Filter& part) {
        check_setting(options, key, [&] { (void)berth::e2b::outbound_of(part); });
    };
    check("filter.private", {.allow = {}, .deny = {}, .inner = rules.inner});
    check("filter.allow", {.allow = rules.allow, .deny = {}, .inner = {}});
    check("filter.deny", {.allow = rules.allow, .deny = rules.deny, .inner = {}});
}

/// Without the folder of a session that is made with its first machine, where it is not there yet.
std::vector<berth::sandbox::Mount> mounts_by_now(const berth::session::Settings& sessions)
{
    auto mounts = sessions.mounts;
    std::erase_if(mounts, [&](const berth::sandbox::Mount& mount) {
        std::error_code unknown;
        return sessions.make_workspace && mount.target == berth::server::workspace_target &&
               std::filesystem::symlink_status(mount.source, unknown).type() ==
                   std::filesystem::file_type::not_found;
    });
    return mounts;
}

/// At the start, and when the settings have changed: else the first call would be the first to say
/// so.
void check_places(const Options& options)
{
    if (is_e2b(options)) {
        const auto& outbound = options.sessions.outbound;
        const bool is_given = std::ranges::any_of(options.settings, [](const auto& setting) {
            return setting.key == "mount" && setting.origin != "default";
        });
        check_setting(options, is_given ? "mount" : "default_workspace",
                      [&] { berth::e2b::require_no_mounts(options.sessions.mounts); });
        check_setting(options, "e2b.same_account",
                      [&] { berth::e2b::require_accounts(options.e2b_same_account); });
        check_setting(options, "e2b.deny_out",
                      [&] { berth::e2b::require_outbound({.allow = {}, .deny = outbound.deny}); });
        check_setting(options, "e2b.allow_out", [&] { berth::e2b::require_outbound(outbound); });
        check_filter(options);
        return;
    }
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
        (void)berth::local::checked_mounts(mounts_by_now(sessions), own, shown, gives_own_uids());
    });
}

std::shared_ptr<berth::sandbox::Backend> make_backend(const Options& options)
{
    const auto environment = berth::server::process_environment();
    if (is_e2b(options)) {
        return berth::e2b::make_backend(
            {.guest_program = berth::server::helper_program("berth-guest", environment),
             .variables = berth::e2b::process_variable,
             .lease = options.e2b_lease,
             .same_account = options.e2b_same_account,
             .owner = [sessions = options.sessions](bool make) {
                 return berth::session::installation_id(sessions, make);
             }});
    }
    return berth::local::make_backend(
        {.guest_program = berth::server::helper_program("berth-guest", environment),
         .launcher_program = berth::server::helper_program("berth-launcher", environment),
         .proxy_program = berth::server::helper_program("berth-proxy", environment),
         .certificates = environment("SSL_CERT_FILE").value_or(""),
         .guest_in_launcher = true,
         .state_directory = options.sessions.state_directory,
         .workspace = options.workspace});
}

std::vector<Check> examine(const Options& options, berth::sandbox::Backend& backend)
{
    if (is_e2b(options)) {
        return berth::e2b::run_doctor(berth::e2b::process_variable);
    }
    const auto& sessions = options.sessions;
    return berth::local::run_doctor(backend, sessions.network, sessions.template_name);
}

std::vector<std::string> layer_names(const Options& options)
{
    return is_e2b(options) ? berth::e2b::check_names() : berth::local::check_names();
}

} // namespace

int main(int argc, char** argv)
{
    return berth::server::run(argc, argv,
                              {.make_backend = make_backend,
                               .check = check_places,
                               .examine = examine,
                               .layers = layer_names});
}
