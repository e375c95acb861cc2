#include "sandbox/local/session_folder.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/local/cgroup_slots.hpp"
#include "sandbox/local/local_machine.hpp"
#include "sandbox/local/remove_tree.hpp"
#include "sandbox/local/session_parts.hpp"
#include "sandbox/local/spare_folder.hpp"
#include "sandbox/protocol/parting_note.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr const char* removed_home = "home.removed";
constexpr const char* generation_name = "machine";
constexpr const char* parting_name = "parting";
constexpr const char* socket_name = "socket";
constexpr const char* cgroup_name = "cgroup";

/// The owner of the home; nothing when there is none.
std::optional<uid_t> owner_of(int folder, const Part& part)
{
    struct stat status{};
    if (::fstatat(folder, part.name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        return status.st_uid;
    }
    if (errno != ENOENT) {
        throw_errno(std::string("look at folder ") + part.name);
    }
    return std::nullopt;
}

/// Of a link in its place nothing is made.
UniqueFd make_private_folder(int parent, const std::string& name)
{
    if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST) {
        throw_errno("make folder " + name);
    }
    UniqueFd made = open_subdirectory(parent, name.c_str());
    if (!made) {
        throw_errno("open folder " + name);
    }
    return made;
}

/// Empty where there is none.
std::string read_note(const std::string& state, const std::string& name, const char* note)
{
    try {
        return read_file_limited(AT_FDCWD, SessionFolder::path_of(state, name) + '/' + note, 256);
    } catch (const std::exception&) {
        return {};
    }
}

std::string_view file_of(std::string_view path)
{
    return path.substr(path.rfind('/') + 1);
}

/// With whose they are: a copied state directory has the original's note, whose machine nobody
/// there may end or limit, and a release that knows of no such note leaves that of an earlier
/// machine.
std::string cgroup_note(const std::string& slot, const std::string& id,
                        const std::string& generation)
{
    return slot + '\n' + id + '\n' + generation;
}

/// Never what a link leads to. Invalid where there is none; errno says why.
UniqueFd open_existing(const std::string& state, const std::string& name)
{
    return UniqueFd(::open(SessionFolder::path_of(state, name).c_str(),
                           O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

/// Whether a machine is noted there; nothing where that cannot be told.
std::optional<bool> has_generation(int folder)
{
    struct stat status{};
    if (::fstatat(folder, generation_name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        return true;
    }
    return errno == ENOENT ? std::optional(false) : std::nullopt;
}

/// The folder where it has that machine's; invalid: it has not, or there is none. By the key: what
/// a record says of itself may be another's word, in shared books.
UniqueFd open_of(const std::string& state, const sandbox::MachineRecord& record)
{
    const auto key = record.data.find("key_hash");
    if (key == record.data.end() || key->second.find('/') != std::string::npos) {
        return {};
    }
    UniqueFd folder = open_existing(state, key->second);
    try {
        return folder && read_file_limited(folder.get(), generation_name, 256) == record.generation
                   ? std::move(folder)
                   : UniqueFd();
    } catch (const std::exception&) {
        return {};
    }
}

} // namespace

SessionFolder::SessionFolder(const std::string& state, const std::string& name, SpareFolder* spare)
    : path_(path_of(state, name))
{
    const auto sessions = make_private_folder(AT_FDCWD, state + "/sessions");
    spread_subdirectories(sessions.get()); // also of one that an earlier release has made
    if (spare != nullptr) {
        (void)spare->give_empty(sessions.get(), name); // else it is there, or is made
    }
    folder_ = make_private_folder(sessions.get(), name);
}

void SessionFolder::prepare(uid_t uid, gid_t gid, SpareFolder* spare) const
{
    if (!remove_temporary()) {
        throw Error(
            ErrorCode::sandbox_unavailable,
            "the temporary files of the session's last machine, in " + path_ +
                ", cannot be removed",
            "remove tmp, var-tmp, run, machine-id, certificates and home.removed there by hand");
    }
    const auto had = [&](const char* part) { return spare != nullptr && spare->give(part, fd()); };
    const auto owner = owner_of(folder_.get(), home_part);
    if (!owner && !had(home_part.name)) {
        make_part(fd(), home_part);
    }
    if (!owner || (*owner != uid && *owner == ::geteuid())) {
        // Also of a server that was killed before it gave the new home away.
        give_part(fd(), home_part, uid, gid);
    } else if (*owner != uid) {
        // Not given away: the files in it would stay the other uid's, which may become that of
        // another session.
        throw Error(ErrorCode::sandbox_unavailable,
                    "the session's home " + path_ + "/home belongs to uid " +
                        std::to_string(*owner) + ", the session has uid " + std::to_string(uid),
                    "give the files in it to uid " + std::to_string(uid) +
                        ", or remove the session with its files");
    }
    for (const auto& part : temporary_parts) {
        const bool whole = had(part.name);
        if (!whole) {
            make_part(fd(), part);
        }
        give_part(fd(), part, uid, gid);
        if (part.name == std::string_view(outputs_parent)) {
            if (!whole) {
                make_outputs(fd());
            }
            give_outputs(fd(), uid, gid);
        }
    }
    if (!had(machine_id_name)) {
        make_machine_id(fd());
    }
}

void SessionFolder::add_certificates(
    const std::vector<std::pair<std::string, std::string>>& files) const
{
    constexpr Part part{certificates_folder, 0755};
    make_part(folder_.get(), part);
    const UniqueFd folder = open_subdirectory(folder_.get(), part.name);
    if (!folder || ::fchmod(folder.get(), part.mode) != 0) {
        throw_errno("open the folder of certificates");
    }
    for (const auto& [name, content] : files) {
        write_readable(folder.get(), name.c_str(), content);
    }
}

bool SessionFolder::is_name(const std::string& name)
{
    constexpr std::size_t longest = 128;
    return !name.empty() && name.size() <= longest &&
           name.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz") == std::string::npos;
}

bool SessionFolder::has_home() const
{
    return owner_of(fd(), home_part).has_value();
}

std::string SessionFolder::find_home(const std::string& state, const std::string& name)
{
    auto path = path_of(state, name) + '/' + home_part.name;
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) ? path : std::string();
}

void SessionFolder::take_home(const SessionFolder& other) const
{
    if (::renameat2(other.folder_.get(), home_part.name, folder_.get(), home_part.name,
                    RENAME_NOREPLACE) != 0) {
        throw_errno("move " + other.path_ + '/' + home_part.name + " to " + path_);
    }
}

bool SessionFolder::remove_temporary() const noexcept
{
    bool removed = remove_tree(folder_.get(), removed_home);
    removed = remove_tree(folder_.get(), machine_id_name) && removed;
    removed = remove_tree(folder_.get(), certificates_folder) && removed;
    for (const auto& part : temporary_parts) {
        removed = remove_tree(folder_.get(), part.name) && removed;
    }
    return removed;
}

bool SessionFolder::remove_home() const noexcept
{
    // Its name goes first: where this is interrupted (the server has a second to end in), no later
    // machine takes what is left of it for the home.
    const bool was_clear = remove_tree(folder_.get(), removed_home);
    ::renameat(folder_.get(), home_part.name, folder_.get(), removed_home);
    return remove_tree(folder_.get(), removed_home) && was_clear &&
           remove_tree(folder_.get(), home_part.name);
}

std::string SessionFolder::generation() const
{
    try {
        return read_file_limited(folder_.get(), generation_name, 256);
    } catch (const std::exception&) {
        return {};
    }
}

std::string SessionFolder::noted_generation(const std::string& state, const std::string& name)
{
    return read_note(state, name, generation_name);
}

void SessionFolder::set_generation(const std::string& generation, SpareFolder* spare) const
{
    write_note(spare, fd(), generation_name, generation);
}

void SessionFolder::forget_generation() const noexcept
{
    ::unlinkat(folder_.get(), generation_name, 0);
    ::unlinkat(folder_.get(), parting_name, 0);
    ::unlinkat(folder_.get(), socket_name, 0);
    ::unlinkat(folder_.get(), cgroup_name, 0);
    try { // and of a server that was killed as it wrote one; else the folder would stay
        remove_unfinished(folder_.get(), {generation_name, socket_name, cgroup_name});
    } catch (const std::exception&) {
        return; // the next one that ends a machine here tries again
    }
}

void SessionFolder::set_socket(const std::string& path, SpareFolder* spare) const
{
    write_note(spare, fd(), socket_name, path);
}

std::string SessionFolder::socket(const std::string& state, const std::string& name,
                                  std::string usual)
{
    auto noted = read_note(state, name, socket_name);
    if (!noted.empty() && file_of(noted) == file_of(usual)) {
        return noted;
    }
    if (noted.empty() || !is_lived_in(state, name, "", Deadline::after({}))) {
        return usual;
    }
    // Of one that was moved, perhaps with the sockets in it.
    const auto here = usual.substr(0, usual.rfind('/') + 1).append(file_of(noted));
    return ::access(here.c_str(), F_OK) == 0 ? here : noted;
}

bool SessionFolder::has_socket(const std::string& state, const std::string& name,
                               const std::string& file)
{
    const auto noted = read_note(state, name, socket_name);
    return !noted.empty() && file_of(noted) == file;
}

void SessionFolder::set_cgroup(const std::string& slot, const std::string& id,
                               const std::string& generation, SpareFolder* spare) const
{
    if (!slot.empty()) {
        write_note(spare, fd(), cgroup_name, cgroup_note(slot, id, generation));
    } else if (::unlinkat(fd(), cgroup_name, 0) != 0 && errno != ENOENT) {
        throw_errno("remove what the last machine's cgroups were called");
    }
}

std::string SessionFolder::cgroup(const std::string& state, const std::string& name,
                                  const std::string& id)
{
    const auto noted = read_note(state, name, cgroup_name);
    auto slot = noted.substr(0, noted.find('\n'));
    const bool believed =
        is_slot(slot) && noted == cgroup_note(slot, id, noted_generation(state, name));
    return believed ? slot : id;
}

UniqueFd SessionFolder::make_parting_note(SpareFolder* spare) const
{
    if (UniqueFd note = spare != nullptr ? spare->place_blank(fd(), parting_name) : UniqueFd()) {
        protocol::begin_parting_note(note.get());
        return note;
    }
    return protocol::make_parting_note(folder_.get(), parting_name);
}

std::optional<protocol::Parting> SessionFolder::parting(const std::string& state,
                                                        const sandbox::MachineRecord& record)
{
    const UniqueFd folder = open_of(state, record);
    return folder ? protocol::read_parting_note(folder.get(), parting_name) : std::nullopt;
}

void SessionFolder::note_asked_end(const std::string& state, const sandbox::MachineRecord& record)
{
    if (const UniqueFd folder = open_of(state, record)) {
        protocol::change_parting_note(folder.get(), parting_name, protocol::Parting::asked);
    }
}

std::string SessionFolder::last_words(const std::string& state,
                                      const sandbox::MachineRecord& record)
{
    const UniqueFd folder = open_of(state, record);
    return folder ? protocol::read_last_words(folder.get(), parting_name) : std::string();
}

bool SessionFolder::is_lived_in(const std::string& state, const std::string& name,
                                const std::string& generation, const Deadline& deadline)
{
    const UniqueFd folder = open_existing(state, name);
    if (!folder) {
        return errno != ENOENT && errno != ENOTDIR;
    }
    if (!protocol::is_parting_note_held(folder.get(), parting_name, deadline)) {
        return false;
    }
    // After the look: that of a later machine is made once the folder says that it is that one's.
    try {
        return generation.empty() ||
               read_file_limited(folder.get(), generation_name, 256) == generation;
    } catch (const std::system_error& error) {
        return error.code().value() != ENOENT;
    } catch (const std::exception&) {
        return true; // of none that can be told
    }
}

bool SessionFolder::is_unlived(const std::string& state, const std::string& name)
{
    const UniqueFd folder = open_existing(state, name);
    if (!folder) {
        return errno == ENOENT || errno == ENOTDIR;
    }
    const auto noted = has_generation(folder.get());
    return noted && (!*noted || protocol::is_parting_note_free(folder.get(), parting_name));
}

std::string SessionFolder::parting_id(const std::string& state, const std::string& name,
                                      const std::string& generation)
{
    const auto folder = path_of(state, name);
    const UniqueFd note(
        ::open((folder + '/' + parting_name).c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW));
    struct stat status{};
    // What somebody has put in its place is no note, and says nothing of whose a machine is.
    const bool is_note = note && ::fstat(note.get(), &status) == 0 && S_ISREG(status.st_mode);
    return is_note && noted_generation(state, name) == generation ? file_id(note.get())
                                                                  : std::string();
}

bool SessionFolder::has_noted_none(const std::string& state, const std::string& name)
{
    const UniqueFd folder = open_existing(state, name);
    return folder && has_generation(folder.get()) == false;
}

void SessionFolder::remove_if_empty() const noexcept
{
    ::rmdir(path_.c_str());
}

} // namespace berth::local
