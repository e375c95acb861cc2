#include "sandbox/local/record_origin.hpp"

#include "sandbox/base/host_time.hpp"
#include "sandbox/local/destroy.hpp"
#include "sandbox/local/runtime_folder.hpp"
#include "sandbox/local/session_folder.hpp"
#include "sandbox/local/stale_sockets.hpp"

#include <cerrno>

#include <sys/stat.h>

namespace berth::local {

namespace {

/// Of the session in the state directory that the record names. One that cannot be looked at
/// counts: a copy may be in other hands than its original.
bool has_original(const MachineFacts& facts)
{
    struct stat status{};
    return ::stat(SessionFolder::path_of(facts.state, facts.folder).c_str(), &status) == 0 ||
           (errno != ENOENT && errno != ENOTDIR);
}

} // namespace

bool is_of_copy(const MachineFacts& facts, const std::string& state)
{
    struct stat named{};
    struct stat own{};
    return !facts.state.empty() && facts.state != state &&
           !SessionFolder::find_home(state, facts.folder).empty() && has_original(facts) &&
           ::stat(facts.state.c_str(), &named) == 0 && S_ISDIR(named.st_mode) &&
           (::stat(state.c_str(), &own) != 0 || named.st_dev != own.st_dev ||
            named.st_ino != own.st_ino);
}

sandbox::MachineRecord with_present_socket(const sandbox::MachineRecord& record,
                                           const std::string& state)
{
    const auto facts = facts_from(record);
    const auto before = facts.state + '/';
    auto present = record;
    if (!facts.state.empty() && facts.state != state && facts.socket_path.starts_with(before)) {
        present.data["socket"] = state + '/' + facts.socket_path.substr(before.size());
    }
    return present;
}

sandbox::MachineRecord unrecorded_machine(const Host& host, const std::string& key_hash)
{
    if (!SessionFolder::is_name(key_hash)) {
        return {};
    }
    const std::string id = machine_id(host.state, key_hash);
    MachineFacts facts;
    facts.state = host.state;
    facts.folder = key_hash;
    facts.boot = boot_id();
    facts.cgroups = session_cgroups(host.cgroups, SessionFolder::cgroup(host.state, key_hash, id));
    facts.socket_path = SessionFolder::socket(host.state, key_hash, socket_in(host.runtime, id));
    const auto listener = listener_at(facts.socket_path);
    facts.pid = listener.pid;
    facts.start_time = listener.start_time;
    auto record = to_record(id, SessionFolder(host.state, key_hash).generation(), facts);
    record.data["key_hash"] = key_hash;
    return record;
}

} // namespace berth::local
