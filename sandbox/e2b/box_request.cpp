#include "sandbox/e2b/box_request.hpp"

#include "sandbox/command_environment.hpp"
#include "sandbox/e2b/box_network.hpp"
#include "sandbox/e2b/filter_rules.hpp"
#include "sandbox/e2b/outbound_rules.hpp"
#include "sandbox/e2b/running_box.hpp"
#include "sandbox/spec_for_guest.hpp"

#include <algorithm>

namespace berth::e2b {
namespace {

/// Of E2B's templates: it may become root there.
constexpr const char* user = "user";
constexpr const char* home = "/home/user";
constexpr const char* usual_template = "base";

} // namespace

void require_no_mounts(const std::vector<sandbox::Mount>& mounts)
{
    if (!mounts.empty()) {
        throw Error(ErrorCode::sandbox_unavailable,
                    "a mount (" + mounts.front().target +
                        "): folders of this host cannot be mounted into a sandbox of E2B",
                    "Leave it out, or use --backend local. Files come and go by "
                    "load_from_workspace and save_to_workspace.");
    }
}

std::chrono::milliseconds idle_time(const sandbox::MachineSpec& spec)
{
    return idle_time(spec.idle_pause);
}

std::chrono::milliseconds idle_time(std::chrono::milliseconds idle_pause)
{
    return idle_pause.count() > 0 ? idle_pause : RunningBox::most_of_every_plan;
}

/// A longer one could be more than the plan allows, which the first call finds out.
std::chrono::seconds first_limit(const sandbox::MachineSpec& spec)
{
    return std::min(RunningBox::limit_for({}, idle_time(spec)), RunningBox::most_of_every_plan);
}

BoxNetwork box_network(const sandbox::Reachable& reachable)
{
    if (reachable.network == sandbox::Network::none) {
        return {.internet = false, .allow_out = {}, .deny_out = {}};
    }
    const auto outbound = reachable.network == sandbox::Network::filtered
                              ? outbound_of(reachable.filter)
                              : reachable.outbound;
    BoxNetwork all{.internet = true, .allow_out = outbound.allow, .deny_out = outbound.deny};
    if (!all.allow_out.empty() && all.deny_out.empty()) {
        all.deny_out.emplace_back(everything);
    }
    return all;
}

BoxRequest box_request(const sandbox::MachineSpec& spec, const std::string& owner)
{
    require_no_mounts(spec.mounts);
    BoxRequest request;
    request.template_id = spec.template_name.empty() ? usual_template : spec.template_name;
    request.timeout = first_limit(spec);
    request.metadata = {{metadata_keys::generation, spec.generation},
                        {metadata_keys::key, spec.key_hash}};
    if (!owner.empty()) {
        request.metadata.emplace(metadata_keys::owner, owner);
    }
    // Also of a server's alone, which would else lose its files as soon as its client thinks for
    // longer than the limit. It is ended with its server, or by whoever clears up after that.
    request.auto_pause = true;
    request.network =
        box_network({.network = spec.network, .outbound = spec.outbound, .filter = spec.filter});
    request.metadata.emplace(metadata_keys::network, network_mark(request.network));
    return request;
}

std::map<std::string, std::string> box_environment(const std::map<std::string, std::string>& extra,
                                                   sandbox::Network network)
{
    const auto seen = network == sandbox::Network::none ? network : sandbox::Network::host;
    return sandbox::command_environment({.home = home, .user = user}, extra, seen);
}

protocol::GuestConfig guest_config(const sandbox::MachineSpec& spec)
{
    auto config = sandbox::config_for_guest(spec);
    config.home = home;
    config.user = user;
    config.writable_roots = {"/tmp"};
    config.environment = box_environment(spec.environment, spec.network);
    config.spill_directory = "/var/tmp/berth";
    config.limit_nproc = spec.limits.pids;
    // When it pauses and ends is E2B's matter, and the servers': the guest sleeps with the rest.
    config.idle_end = 0;
    config.idle_pause = 0;
    config.on_disconnect = protocol::OnDisconnect::keep;
    return config;
}

} // namespace berth::e2b
