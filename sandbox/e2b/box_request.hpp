#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/e2b/api_types.hpp"
#include "sandbox/protocol/guest_config.hpp"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace berth::e2b {

/// What a sandbox of berth's is known by in its metadata, at E2B: nothing else tells whose it is.
namespace metadata_keys {
inline constexpr const char* generation = "berth_generation";
inline constexpr const char* key = "berth_key";     ///< of the session
inline constexpr const char* owner = "berth_owner"; ///< the installation, and its books
/// See network_mark(): what it was made to reach, for servers that cannot change that.
inline constexpr const char* network = "berth_network";
} // namespace metadata_keys

/// Throws Error(sandbox_unavailable) where there is any: E2B has no folders of this host.
void require_no_mounts(const std::vector<sandbox::Mount>& mounts);

/// For how long a sandbox runs after its last use. E2B lets none run for ever: where it shall never
/// be paused, an hour.
[[nodiscard]] std::chrono::milliseconds idle_time(const sandbox::MachineSpec& spec);
[[nodiscard]] std::chrono::milliseconds idle_time(std::chrono::milliseconds idle_pause);

/// For how long a fresh one is given.
[[nodiscard]] std::chrono::seconds first_limit(const sandbox::MachineSpec& spec);

/// What it may reach. An allowed list alone keeps everything else from it. Throws as outbound_of().
[[nodiscard]] BoxNetwork box_network(const sandbox::Reachable& reachable);

/// `owner`: empty: it is not marked. Throws as require_no_mounts().
[[nodiscard]] BoxRequest box_request(const sandbox::MachineSpec& spec,
                                     const std::string& owner = {});

/// What commands have in it, with that network. A filtered one is E2B's to keep: no proxy of
/// berth's is there.
[[nodiscard]] std::map<std::string, std::string>
box_environment(const std::map<std::string, std::string>& extra, sandbox::Network network);

/// What the guest in it is told.
[[nodiscard]] protocol::GuestConfig guest_config(const sandbox::MachineSpec& spec);

} // namespace berth::e2b
