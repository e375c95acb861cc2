#include "sandbox/session/settings.hpp"

#include "sandbox/base/sha256.hpp"

namespace berth::session {

std::string fingerprint(const Settings& settings)
{
    Sha256 hash;
    // Each text with its length, so that no two lists of texts read alike.
    const auto add = [&](const std::string& text) {
        hash.update(std::to_string(text.size()) + ":" + text);
    };
    add(std::to_string(settings.mounts.size()));
    for (const auto& mount : settings.mounts) {
        add(mount.source);
        add(mount.target);
        add(mount.writable ? "rw" : "ro");
    }
    add(settings.network == sandbox::Network::host ? "host" : "none");
    add(settings.path_policy);
    const auto& limits = settings.limits;
    add(std::to_string(limits.cpus));
    for (const std::uint64_t limit :
         {limits.memory, std::uint64_t{limits.pids}, limits.nofile, std::uint64_t{limits.calls},
          std::uint64_t{limits.jobs}, limits.spill_stream, limits.spill_session}) {
        add(std::to_string(limit));
    }
    return hash.finish();
}

} // namespace berth::session
