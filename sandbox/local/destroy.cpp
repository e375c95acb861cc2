#include "sandbox/local/destroy.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/sha256.hpp"
#include "sandbox/base/syscalls.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/cgroup_tree.hpp"
#include "sandbox/local/home_limit.hpp"
#include "sandbox/local/local_machine.hpp"
#include "sandbox/local/proxy_secrets.hpp"
#include "sandbox/local/record_origin.hpp"
#include "sandbox/local/session_folder.hpp"
#include "sandbox/local/uid_range.hpp"
#include "sandbox/local/unseen_guest.hpp"

#include <chrono>
#include <csignal>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr std::chrono::seconds patience{5};

/// Killing pid 1 of a pid namespace ends all processes in it before its own end can be seen.
void end_processes(const MachineFacts& facts, bool latest)
{
    const UniqueFd guest = open_guest(facts);
    if (guest) {
        // Before its commands: it would tell whoever waits for one that this was killed, as if by
        // itself, where the whole session ended.
        sys::pidfd_send_signal(guest.get(), SIGKILL);
    }
    if (latest) {
        for (const auto& path : facts.cgroups) {
            kill_cgroup(path);
        }
    }
    if (!guest) {
        return;
    }
    if (!wait_readable(guest.get(), Deadline::after(patience))) {
        throw Error(ErrorCode::backend_error,
                    "the sandbox's first process " + std::to_string(facts.pid) + " does not end",
                    "a file system that does not answer may hold it; try again later");
    }
}

/// Without what cannot be this session's, by its name. Whoever can write in shared books could else
/// have root remove any socket, file or cgroup of the host, which only who is root may.
MachineFacts own_facts(const sandbox::MachineRecord& record, const std::string& state)
{
    MachineFacts facts = facts_from(with_present_socket(record, state));
    if (is_of_copy(record, state)) { // what runs is the original's
        MachineFacts files;
        files.folder = facts.folder;
        facts = std::move(files);
    }
    const auto key = record.data.find("key_hash");
    if (key != record.data.end() && key->second != facts.folder) {
        return {};
    }
    auto id = machine_id(facts.state, facts.folder, record.generation);
    if (record.id != id) {
        id = machine_id(facts.state, facts.folder);
    }
    // By what is noted here, where the folder is by now: what the record says of a place may be
    // another's word, and a note there name anybody's cgroups.
    const auto cgroup = "/berth/" + SessionFolder::cgroup(state, facts.folder, id);
    std::erase_if(facts.cgroups, [&](const std::string& path) { return !path.ends_with(cgroup); });
    if (!facts.socket_path.ends_with('/' + id + ".sock")) {
        facts.socket_path.clear();
    }
    if (has_lost_its_name(facts, state)) {
        std::erase_if(facts.cgroups,
                      [&](const std::string& path) { return path.ends_with("/berth/" + id); });
        facts.socket_path.clear();
    }
    return facts;
}

void require_removed(bool removed, const std::string& what, const SessionFolder& folder)
{
    if (!removed) {
        throw Error(ErrorCode::backend_error,
                    "the session's " + what + " in " + folder.path() + " cannot be removed whole",
                    "see what is left there; then end the session once more");
    }
}

} // namespace

bool remove_home(const SessionFolder& folder, const std::string& name, int state, bool privileged)
{
    if (privileged) {
        drop_home_limit(linux_projects(), folder.fd());
    }
    if (!folder.remove_home()) {
        return false; // the next session with that uid would own what is left
    }
    if (privileged && state >= 0) {
        UidRange(state, 0, 0).release(name);
    }
    folder.remove_if_empty();
    return true;
}

std::string machine_id(const std::string& state, const std::string& key_hash,
                       const std::string& generation)
{
    const auto of_session = state + "\n" + key_hash;
    return sha256_hex(generation.empty() ? of_session : of_session + "\n" + generation)
        .substr(0, 16);
}

std::vector<std::string> session_cgroups(const CgroupLayout& layout, const std::string& id)
{
    std::vector<std::string> paths;
    for (const auto& base : layout.directories()) {
        paths.push_back(std::string(base).append("/berth/").append(id));
    }
    return paths;
}

void end_guest(const sandbox::MachineRecord& record, const std::string& state)
{
    if (const UniqueFd guest = open_guest(facts_from(record))) {
        SessionFolder::note_asked_end(state, record);
        sys::pidfd_send_signal(guest.get(), SIGKILL);
    }
}

void destroy_machine(const sandbox::MachineRecord& record, const std::string& state, bool purge,
                     bool privileged)
{
    const MachineFacts facts = own_facts(record, state);
    if (facts.folder.empty() || facts.folder.find('/') != std::string::npos) {
        return;
    }
    const std::string path = SessionFolder::path_of(state, facts.folder);
    if (::access(path.c_str(), F_OK) != 0) {
        return;
    }
    try {
        const SessionFolder folder(state, facts.folder);
        const std::string generation = folder.generation();
        // Cgroups, socket and folders have the session's name: they would be the later machine's.
        const bool latest = generation.empty() || generation == record.generation;
        end_processes(facts, latest);
        if (!latest) {
            return;
        }
        require_none_unseen(state, facts.folder);
        for (const auto& cgroup : facts.cgroups) {
            remove_cgroup(cgroup, Deadline::after(patience));
            remove_abandoned(cgroup.substr(0, cgroup.rfind('/')));
        }
        if (!facts.socket_path.empty()) {
            ::unlink(facts.socket_path.c_str());
            ::unlink(secrets_socket_of(facts.socket_path).c_str());
        }
        require_removed(folder.remove_temporary(), "temporary files", folder);
        folder.forget_generation();
        if (purge) {
            const UniqueFd opened(
                ::open(state.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
            require_removed(remove_home(folder, facts.folder, opened.get(), privileged), "home",
                            folder);
        }
    } catch (const std::system_error& error) {
        throw Error(ErrorCode::backend_error, std::string("end the sandbox: ") + error.what());
    }
}

} // namespace berth::local
