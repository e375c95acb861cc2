#include "sandbox/local/record_origin.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/host_time.hpp"
#include "sandbox/local/cgroup_tree.hpp"
#include "sandbox/local/destroy.hpp"
#include "sandbox/local/process_identity.hpp"
#include "sandbox/local/runtime_folder.hpp"
#include "sandbox/local/session_folder.hpp"
#include "sandbox/local/stale_sockets.hpp"

#include <algorithm>
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

bool names_another(const MachineFacts& facts, const std::string& state)
{
    struct stat named{};
    struct stat own{};
    return facts.state != state && has_original(facts) &&
           ::stat(facts.state.c_str(), &named) == 0 && S_ISDIR(named.st_mode) &&
           (::stat(state.c_str(), &own) != 0 || named.st_dev != own.st_dev ||
            named.st_ino != own.st_ino);
}

bool is_another_s(const MachineFacts& facts, const std::string& generation,
                  const std::string& state)
{
    if (facts.note.empty()) {
        return names_another(facts, state);
    }
    const auto note = SessionFolder::parting_id(state, facts.folder, generation);
    if (!note.empty()) {
        return note != facts.note;
    }
    // A machine of this folder's has ended before its note goes, and what it was given with it.
    return SessionFolder::has_noted_none(state, facts.folder) || names_another(facts, state);
}

std::string socket_of(const Host& host, const std::string& key_hash)
{
    return SessionFolder::socket(host.state, key_hash,
                                 socket_in(host.runtime, present_id(host.state, key_hash)));
}

/// What is left of one that has ended, with nobody in it, goes.
bool is_taken(const Host& host, const std::string& id)
{
    const auto cgroups = session_cgroups(host.cgroups, id);
    return !nobody_listens(socket_in(host.runtime, id)) ||
           std::any_of(cgroups.begin(), cgroups.end(), [](const std::string& cgroup) {
               return !remove_cgroup(cgroup, Deadline::after({}));
           });
}

} // namespace

bool is_of_copy(const sandbox::MachineRecord& record, const std::string& state)
{
    const auto facts = facts_from(record);
    // A file system may have given the same file another number since; then the lock tells.
    return !facts.state.empty() && !SessionFolder::find_home(state, facts.folder).empty() &&
           is_another_s(facts, record.generation, state) &&
           (record.generation.empty() ||
            !SessionFolder::is_lived_in(state, facts.folder, record.generation,
                                        Deadline::after({})));
}

bool has_lost_its_name(const MachineFacts& facts, const std::string& state)
{
    return facts.pid > 0 && process_has_ended(facts.pid, facts.start_time, facts.boot) &&
           !SessionFolder::find_home(state, facts.folder).empty() &&
           SessionFolder::is_unlived(state, facts.folder) && !nobody_listens(facts.socket_path);
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

std::string new_machine_id(const Host& host, const std::string& key_hash,
                           const std::string& generation)
{
    auto id = machine_id(host.state, key_hash);
    return is_taken(host, id) ? machine_id(host.state, key_hash, generation) : id;
}

std::string present_id(const std::string& state, const std::string& key_hash)
{
    const auto generation = SessionFolder::noted_generation(state, key_hash);
    auto own = machine_id(state, key_hash, generation);
    return SessionFolder::has_socket(state, key_hash, own + ".sock") ? own
                                                                     : machine_id(state, key_hash);
}

bool listens_unrecorded(const Host& host, const std::string& key_hash)
{
    return !nobody_listens(socket_of(host, key_hash)) &&
           !SessionFolder::is_unlived(host.state, key_hash);
}

sandbox::MachineRecord unrecorded_machine(const Host& host, const std::string& key_hash)
{
    if (!SessionFolder::is_name(key_hash)) {
        return {};
    }
    const std::string id = present_id(host.state, key_hash);
    MachineFacts facts;
    facts.state = host.state;
    facts.folder = key_hash;
    facts.boot = boot_id();
    const auto socket = socket_of(host, key_hash);
    // Else it is another's machine that listens there: of a state directory that was here before.
    if (nobody_listens(socket) || !SessionFolder::is_unlived(host.state, key_hash)) {
        facts.cgroups =
            session_cgroups(host.cgroups, SessionFolder::cgroup(host.state, key_hash, id));
        facts.socket_path = socket;
        const auto listener = listener_at(socket);
        facts.pid = listener.pid;
        facts.start_time = listener.start_time;
    }
    auto record = to_record(id, SessionFolder(host.state, key_hash).generation(), facts);
    record.data["key_hash"] = key_hash;
    return record;
}

} // namespace berth::local
