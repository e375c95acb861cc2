#include "sandbox/guest/microvm/resident.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/file_lock.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/unix_socket.hpp"
#include "sandbox/guest/guest.hpp"
#include "sandbox/guest/microvm/eviction.hpp"
#include "sandbox/guest/microvm/user_database.hpp"
#include "sandbox/protocol/guest_config.hpp"
#include "sandbox/protocol/opening.hpp"
#include "sandbox/protocol/parting_note.hpp"
#include "sandbox/protocol/residence.hpp"
#include "sandbox/protocol/wire.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::guest {
namespace {

namespace residence = protocol::residence;

constexpr std::size_t largest_config = 1024UL * 1024;
/// Less than a host waits for the process that this is.
constexpr std::chrono::seconds start_time{20};

/// Whoever else could write here would choose the guest's token, or what it runs as.
UniqueFd open_own_folder(const std::string& path)
{
    UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status{};
    if (!folder || ::fstat(folder.get(), &status) != 0) {
        throw_errno("open " + path);
    }
    if (status.st_uid != ::geteuid()) {
        throw Error(ErrorCode::permission_denied, path + " belongs to another user");
    }
    if (::fchmod(folder.get(), 0700) != 0) {
        throw_errno("chmod " + path);
    }
    return folder;
}

bool is_resident(const std::string& folder)
{
    try {
        (void)connect_unix(folder + '/' + residence::socket,
                           Deadline::after(std::chrono::seconds(2)));
        return true;
    } catch (const Error& error) {
        if (error.code() == ErrorCode::session_lost) {
            return false;
        }
        throw;
    }
}

/// Nothing where there is none; it has a secret in it, and is gone from then on.
std::optional<protocol::GuestConfig> take_config(const std::string& folder)
{
    const std::string path = folder + '/' + residence::config;
    std::string bytes;
    try {
        bytes = read_file_limited(AT_FDCWD, path, largest_config);
    } catch (const std::system_error& error) {
        if (error.code().value() != ENOENT) {
            throw;
        }
        return std::nullopt;
    }
    ::unlink(path.c_str()); // also one that cannot be read has the secret
    auto config = protocol::decode<protocol::GuestConfig>(bytes);
    ::explicit_bzero(bytes.data(), bytes.size());
    return config;
}

void write_key(int folder, const protocol::GuestConfig& config)
{
    const auto key = protocol::opening_key(config.token);
    const protocol::ConnectorKey content{.key = std::string(key.bytes.begin(), key.bytes.end()),
                                         .generation = config.generation};
    write_file_atomically(folder, residence::key, protocol::encode(content), 0600, false);
}

/// Whether it is the one that is there: who got no answer asks again.
bool is_same(int folder, const protocol::GuestConfig& config)
{
    const auto known = protocol::decode<protocol::ConnectorKey>(
        read_file_limited(folder, residence::key, largest_config));
    return known.generation == config.generation;
}

UniqueFd lock_folder(const std::string& path)
{
    UniqueFd folder = open_own_folder(path);
    // A host that got no answer to the first one may have started a second.
    if (!flock_until(folder.get(), LOCK_EX, Deadline::after(start_time))) {
        throw Error(ErrorCode::busy, "another guest is being started here");
    }
    return folder;
}

/// Of an earlier machine: nobody can ask for it any more. Where a command has left a link in its
/// place nothing is removed of what that leads to. What stays takes room on the disk, and does no
/// other harm.
void remove_outputs(const protocol::GuestConfig& config)
{
    const UniqueFd folder(
        ::open(config.spill_directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder) {
        return;
    }
    for (const auto& name : directory_names(folder.get())) {
        ::unlinkat(folder.get(), name.c_str(), 0);
    }
}

struct Descriptors {
    UniqueFd listener;
    UniqueFd parting;
    Pipe ready;
    Pipe complaint; ///< the guest's stderr until it is ready; nobody reads what it says later
};

[[noreturn]] void become_guest(protocol::GuestConfig config, Descriptors& own)
{
    ::setsid();
    ::prctl(PR_SET_NAME, resident_name);
    const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!nothing) {
        throw_errno("open /dev/null");
    }
    // Whoever started this process waits for the end of what these were.
    ::dup2(nothing.get(), STDIN_FILENO);
    ::dup2(nothing.get(), STDOUT_FILENO);
    ::dup2(own.complaint.write.get(), STDERR_FILENO);
    (void)!::chdir("/");
    config.listen_fd = own.listener.release();
    config.parting_fd = own.parting.release();
    config.ready_fd = own.ready.write.release();
    run(std::move(config));
}

/// False: it ended, or did not begin in time.
bool is_ready(int fd)
{
    char byte = 0;
    return wait_readable(fd, Deadline::after(start_time)) && read_full(fd, &byte, 1) == 1 &&
           byte == 'R';
}

void await_guest(pid_t pid, Descriptors& its)
{
    its.ready.write.reset();
    its.complaint.write.reset();
    if (is_ready(its.ready.read.get())) {
        return;
    }
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    std::string said(4096, '\0');
    said.resize(read_full(its.complaint.read.get(), said.data(), said.size()));
    throw Error(ErrorCode::sandbox_unavailable,
                "the guest did not start: " + (said.empty() ? "it said nothing" : said));
}

/// Who got no answer to the first time asks again, and that has taken the configuration: what is
/// told is what went wrong then.
void leave_reason(int folder, const std::string& reason) noexcept
try {
    write_file_atomically(folder, residence::reason, reason, 0600, false);
} catch (const std::exception&) {
    return; // no room: the next one says that there is no configuration
}

[[noreturn]] void refuse_without_config(const std::string& path, int folder)
{
    std::string reason = path + '/' + residence::config + " is not there";
    try {
        reason = read_file_limited(folder, residence::reason, largest_config);
    } catch (const std::system_error&) { // NOLINT(bugprone-empty-catch): there was no first time
    }
    throw Error(ErrorCode::sandbox_unavailable, reason);
}

void reside_in(const std::string& path, int folder)
{
    auto config = take_config(path);
    if (is_resident(path) && (!config || is_same(folder, *config))) {
        return;
    }
    if (!config) {
        refuse_without_config(path, folder);
    }
    ::unlinkat(folder, residence::reason, 0);
    evict_guests(path);
    remove_outputs(*config);
    config->run_as = find_user(config->user);
    write_key(folder, *config);
    Descriptors descriptors{.listener = listen_unix(path + '/' + residence::socket),
                            .parting = protocol::make_parting_note(folder, residence::parting),
                            .ready = make_pipe(),
                            .complaint = make_pipe()};
    const pid_t pid = ::fork();
    if (pid < 0) {
        throw_errno("fork");
    }
    if (pid == 0) {
        become_guest(*std::move(config), descriptors);
    }
    await_guest(pid, descriptors);
}

} // namespace

void reside(const std::string& path)
{
    const UniqueFd folder = lock_folder(path);
    try {
        reside_in(path, folder.get());
    } catch (const std::exception& error) {
        leave_reason(folder.get(), error.what());
        throw;
    }
}

void vacate(const std::string& path)
{
    const UniqueFd folder = lock_folder(path);
    evict_guests(path);
}

} // namespace berth::guest
