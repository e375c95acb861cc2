#include "sandbox/local/session_folder.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/local/remove_tree.hpp"
#include "sandbox/protocol/parting_note.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local {
namespace {

struct Part {
    const char* name;
    mode_t mode;
};

constexpr Part home{"home", 0700};
constexpr std::array temporary{Part{"tmp", 01777}, Part{"var-tmp", 01777}, Part{"run", 0755}};
/// What commands' outputs are kept in (GuestConfig::spill_directory). The guest makes what is
/// missing of it too, but while somebody waits.
constexpr Part outputs{"berth", 0700};
constexpr const char* outputs_parent = "var-tmp";
constexpr const char* removed_home = "home.removed";
constexpr const char* machine_id_name = "machine-id";
constexpr const char* generation_name = "machine";
constexpr const char* parting_name = "parting";
constexpr const char* socket_name = "socket";

void make_part(int folder, const Part& part)
{
    if (::mkdirat(folder, part.name, 0700) != 0) {
        throw_errno(std::string("make folder ") + part.name);
    }
}

void give_part(int folder, const Part& part, uid_t uid, gid_t gid)
{
    const UniqueFd fd(::openat(folder, part.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd || ::fchown(fd.get(), uid, gid) != 0 || ::fchmod(fd.get(), part.mode) != 0) {
        throw_errno(std::string("give folder ") + part.name + " to the session");
    }
}

/// machine-id(5): of 32 hexadecimal digits, and no other machine's.
void make_machine_id(int folder)
{
    const UniqueFd file(
        ::openat(folder, machine_id_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
    if (!file) {
        throw_errno("make the machine-id");
    }
    write_full(file.get(), random_hex(16) + "\n");
    if (::fchmod(file.get(), 0444) != 0) { // whatever the server's umask: it is read inside
        throw_errno("let the machine-id be read");
    }
}

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
    UniqueFd made(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!made) {
        throw_errno("open folder " + name);
    }
    return made;
}

/// The folder where it has that machine's; invalid: it has not, or there is none. By the key: what
/// a record says of itself may be another's word, in shared books.
UniqueFd open_of(const std::string& state, const sandbox::MachineRecord& record)
{
    const auto key = record.data.find("key_hash");
    if (key == record.data.end() || key->second.find('/') != std::string::npos) {
        return {};
    }
    UniqueFd folder(::open(SessionFolder::path_of(state, key->second).c_str(),
                           O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    try {
        return folder && read_file_limited(folder.get(), generation_name, 256) == record.generation
                   ? std::move(folder)
                   : UniqueFd();
    } catch (const std::exception&) {
        return {};
    }
}

} // namespace

SessionFolder::SessionFolder(const std::string& state, const std::string& name)
    : path_(path_of(state, name))
{
    const auto sessions = make_private_folder(AT_FDCWD, state + "/sessions");
    folder_ = make_private_folder(sessions.get(), name);
}

void SessionFolder::prepare(uid_t uid, gid_t gid) const
{
    if (!remove_temporary()) {
        throw Error(ErrorCode::sandbox_unavailable,
                    "the temporary files of the session's last machine, in " + path_ +
                        ", cannot be removed",
                    "remove tmp, var-tmp, run, machine-id and home.removed there by hand");
    }
    const auto owner = owner_of(folder_.get(), home);
    if (!owner) {
        make_part(folder_.get(), home);
    }
    if (!owner || (*owner != uid && *owner == ::geteuid())) {
        // Also of a server that was killed before it gave the new home away.
        give_part(folder_.get(), home, uid, gid);
    } else if (*owner != uid) {
        // Not given away: the files in it would stay the other uid's, which may become that of
        // another session.
        throw Error(ErrorCode::sandbox_unavailable,
                    "the session's home " + path_ + "/home belongs to uid " +
                        std::to_string(*owner) + ", the session has uid " + std::to_string(uid),
                    "give the files in it to uid " + std::to_string(uid) +
                        ", or remove the session with its files");
    }
    for (const auto& part : temporary) {
        make_part(folder_.get(), part);
        give_part(folder_.get(), part, uid, gid);
    }
    make_machine_id(folder_.get());
    // From folder to folder: the one that it is in is the session's by now.
    const UniqueFd parent(
        ::openat(folder_.get(), outputs_parent, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!parent) {
        throw_errno(std::string("open folder ") + outputs_parent);
    }
    make_part(parent.get(), outputs);
    give_part(parent.get(), outputs, uid, gid);
}

bool SessionFolder::is_name(const std::string& name)
{
    constexpr std::size_t longest = 128;
    return !name.empty() && name.size() <= longest &&
           name.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz") == std::string::npos;
}

bool SessionFolder::has_home() const
{
    return owner_of(folder_.get(), home).has_value();
}

std::string SessionFolder::find_home(const std::string& state, const std::string& name)
{
    auto path = path_of(state, name) + '/' + home.name;
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) ? path : std::string();
}

void SessionFolder::take_home(const SessionFolder& other) const
{
    if (::renameat2(other.folder_.get(), home.name, folder_.get(), home.name, RENAME_NOREPLACE) !=
        0) {
        throw_errno("move " + other.path_ + '/' + home.name + " to " + path_);
    }
}

bool SessionFolder::remove_temporary() const noexcept
{
    bool removed = remove_tree(folder_.get(), removed_home);
    removed = remove_tree(folder_.get(), machine_id_name) && removed;
    for (const auto& part : temporary) {
        removed = remove_tree(folder_.get(), part.name) && removed;
    }
    return removed;
}

bool SessionFolder::remove_home() const noexcept
{
    // Its name goes first: where this is interrupted (the server has a second to end in), no later
    // machine takes what is left of it for the home.
    const bool was_clear = remove_tree(folder_.get(), removed_home);
    ::renameat(folder_.get(), home.name, folder_.get(), removed_home);
    return remove_tree(folder_.get(), removed_home) && was_clear &&
           remove_tree(folder_.get(), home.name);
}

std::string SessionFolder::generation() const
{
    try {
        return read_file_limited(folder_.get(), generation_name, 256);
    } catch (const std::exception&) {
        return {};
    }
}

void SessionFolder::set_generation(const std::string& generation) const
{
    write_file_atomically(folder_.get(), generation_name, generation, 0600, /*sync=*/false);
}

void SessionFolder::forget_generation() const noexcept
{
    ::unlinkat(folder_.get(), generation_name, 0);
    ::unlinkat(folder_.get(), parting_name, 0);
    ::unlinkat(folder_.get(), socket_name, 0);
    try { // and of a server that was killed as it wrote one; else the folder would stay
        remove_unfinished(folder_.get(), {generation_name, socket_name});
    } catch (const std::exception&) {
        return; // the next one that ends a machine here tries again
    }
}

void SessionFolder::set_socket(const std::string& path) const
{
    write_file_atomically(folder_.get(), socket_name, path, 0600, /*sync=*/false);
}

std::string SessionFolder::socket(const std::string& state, const std::string& name,
                                  std::string usual)
{
    try {
        auto noted = read_file_limited(AT_FDCWD, path_of(state, name) + '/' + socket_name, 256);
        return noted.empty() ? usual : noted;
    } catch (const std::exception&) {
        return usual;
    }
}

UniqueFd SessionFolder::make_parting_note() const
{
    return protocol::make_parting_note(folder_.get(), parting_name);
}

std::optional<protocol::Parting> SessionFolder::parting(const std::string& state,
                                                        const sandbox::MachineRecord& record)
{
    const UniqueFd folder = open_of(state, record);
    return folder ? protocol::read_parting_note(folder.get(), parting_name) : std::nullopt;
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
    const UniqueFd folder(
        ::open(path_of(state, name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
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

void SessionFolder::remove_if_empty() const noexcept
{
    ::rmdir(path_.c_str());
}

} // namespace berth::local
