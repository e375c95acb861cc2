#include "sandbox/session/host_folders.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/session/key.hpp"
#include "sandbox/session/session_folders.hpp"
#include "sandbox/session/session_lock.hpp"
#include "sandbox/state_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <exception>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::session {
namespace {

/// The one that servers with books in files take: whoever was started without the registry waits.
constexpr const char* host_lock_name = "lock";
constexpr const char* host_claim_name = "server"; ///< as books in files have it
constexpr const char* mark_name = "last-wanted";
constexpr const char* teller_name = file_teller_name;
constexpr const char* machine_name = "last-machine";
constexpr std::size_t max_mark = 256;
constexpr std::size_t max_machine = 2UL << 20U;

/// Whoever is just beginning has a younger one.
constexpr std::chrono::seconds bare_after{60};

bool is_older_than_a_minute(const struct stat& status)
{
    return std::time(nullptr) - status.st_mtim.tv_sec > bare_after.count();
}

bool is_quiet(int folder)
{
    struct stat status{};
    return ::fstat(folder, &status) == 0 && is_older_than_a_minute(status);
}

/// Whether there is nothing in it but what is made here.
bool is_bare(int folder)
{
    const auto names = directory_names(folder);
    return std::all_of(names.begin(), names.end(), [](const std::string& name) {
        return name == host_lock_name || name == host_claim_name || name == mark_name ||
               name == machine_name || name == teller_name || is_unfinished(name, mark_name) ||
               is_unfinished(name, machine_name);
    });
}

} // namespace

HostFolders::HostFolders(std::string state_directory) : state_directory_(std::move(state_directory))
{
}

std::string HostFolders::path(const std::string& key) const
{
    return SessionFolders(state_directory_).path(key);
}

UniqueFd HostFolders::make_folder(const std::string& key) const
{
    return SessionFolders(state_directory_).make(key);
}

UniqueFd HostFolders::lock(const std::string& key, const Deadline& deadline) const
{
    return lock_file([&] { return make_folder(key); }, host_lock_name, deadline);
}

UniqueFd HostFolders::claim(const std::string& key, const Deadline& deadline) const
{
    return lock_file([&] { return make_folder(key); }, host_claim_name, deadline);
}

HostFolders::Teller::~Teller()
{
    // While it is locked: whoever has opened it meanwhile sees that. Not that of a later folder.
    if (holds()) {
        ::unlink(path_.c_str());
    }
}

bool HostFolders::Teller::holds() const noexcept
{
    return is_named(AT_FDCWD, path_, fd_.get());
}

std::shared_ptr<const HostFolders::Teller> HostFolders::claim_telling(const std::string& key) const
{
    UniqueFd fd = lock_file([&] { return make_folder(key); }, teller_name, Deadline::after({}));
    return fd ? std::make_shared<const Teller>(path(key) + '/' + teller_name, std::move(fd))
              : nullptr;
}

void HostFolders::clear_telling(const std::string& key) const noexcept
try {
    if (::access((path(key) + '/' + teller_name).c_str(), F_OK) == 0) {
        [[maybe_unused]] const auto removed_with_it = claim_telling(key);
    }
} catch (const std::exception&) {
    return; // it goes with the session
}

bool HostFolders::is_claim(const std::string& key, int claim) const noexcept
{
    try {
        return claim >= 0 && is_named(AT_FDCWD, path(key) + '/' + host_claim_name, claim);
    } catch (const std::exception&) {
        return false;
    }
}

HostFolders::Server HostFolders::server_of(const std::string& key) const
{
    const UniqueFd folder = SessionFolders(state_directory_).open(key);
    UniqueFd file(folder ? ::openat(folder.get(), host_claim_name,
                                    O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
                         : -1);
    if (!file) {
        return {};
    }
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        return {.lives = errno == EWOULDBLOCK, .dead = {}};
    }
    // Else it was removed meanwhile, and with it what it tells.
    return {.lives = false,
            .dead =
                is_named(folder.get(), host_claim_name, file.get()) ? std::move(file) : UniqueFd()};
}

std::string HostFolders::mark(const std::string& key) const
{
    if (!sandbox::find_state_directory(state_directory_)) {
        return {};
    }
    try {
        return read_file_limited(AT_FDCWD, path(key) + '/' + mark_name, max_mark);
    } catch (const std::exception&) {
        return {}; // as if it were not there: what it would allow is not done
    }
}

std::string HostFolders::kept_machine(const std::string& key) const
{
    if (!sandbox::find_state_directory(state_directory_)) {
        return {};
    }
    try {
        return read_file_limited(AT_FDCWD, path(key) + '/' + machine_name, max_machine);
    } catch (const std::exception&) {
        return {};
    }
}

std::vector<std::string> HostFolders::with_machine() const
{
    return SessionFolders(state_directory_).keys([](int sessions, const std::string& key) {
        struct stat status{};
        return ::fstatat(sessions, (key + '/' + machine_name).c_str(), &status,
                         AT_SYMLINK_NOFOLLOW) == 0;
    });
}

/// Not flushed: after a power loss no machine lives, and a home stays for longer.
void HostFolders::write(const std::string& key, const char* name, const std::string& text) const
{
    const UniqueFd folder = make_folder(key);
    remove_unfinished(folder.get(), {name});
    try {
        write_file_atomically(folder.get(), name, text, 0600, /*sync=*/false);
    } catch (const std::system_error& error) {
        throw sandbox::write_error(error.code().value(), "the session's folder cannot be used",
                                   "write " + path(key) + '/' + name, SessionFolders::hint());
    }
}

void HostFolders::set_mark(const std::string& key, const std::string& mark) const
{
    write(key, mark_name, mark);
}

void HostFolders::keep_machine(const std::string& key, const std::string& text) const
{
    write(key, machine_name, text);
}

void HostFolders::drop_machine(const std::string& key) const noexcept
{
    try {
        ::unlink((path(key) + '/' + machine_name).c_str());
    } catch (const std::exception&) {
        return; // of memory there is none
    }
}

void HostFolders::forget(const std::string& key) const noexcept
{
    try {
        const UniqueFd state = sandbox::find_state_directory(state_directory_);
        const std::string folder = path(key);
        if (!state) {
            return;
        }
        if (const UniqueFd opened = open_subdirectory(AT_FDCWD, folder.c_str())) {
            remove_unfinished(opened.get(), {mark_name, machine_name});
        }
        // The lock last: who waits for it writes here as soon as it is gone.
        for (const char* name :
             {machine_name, mark_name, teller_name, host_claim_name, host_lock_name}) {
            ::unlink((folder + '/' + name).c_str());
        }
        ::rmdir(folder.c_str()); // fails while a home is there; then the folder stays for it
    } catch (const std::exception&) {
        return; // an empty folder more
    }
}

void HostFolders::sweep(const std::string& key) const
{
    if (const UniqueFd folder = SessionFolders(state_directory_).open(key)) {
        remove_unfinished(folder.get(), {}, bare_after);
    }
}

std::vector<std::string> HostFolders::bare() const
{
    return SessionFolders(state_directory_).keys([](int sessions, const std::string& key) {
        const UniqueFd folder = open_subdirectory(sessions, key.c_str());
        return folder && is_quiet(folder.get()) && is_bare(folder.get());
    });
}

std::vector<std::string> HostFolders::occupied() const
{
    return SessionFolders(state_directory_).keys([](int sessions, const std::string& key) {
        const UniqueFd folder = open_subdirectory(sessions, key.c_str());
        struct stat status{};
        return folder && is_quiet(folder.get()) && !is_bare(folder.get()) &&
               ::fstatat(folder.get(), file_record_name, &status, AT_SYMLINK_NOFOLLOW) != 0 &&
               (::fstatat(folder.get(), mark_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
                is_older_than_a_minute(status));
    });
}

std::chrono::system_clock::time_point HostFolders::last_noted(const std::string& key) const noexcept
{
    struct stat status{};
    const bool noted =
        is_key(key) && (::lstat((path(key) + '/' + mark_name).c_str(), &status) == 0 ||
                        ::lstat(path(key).c_str(), &status) == 0);
    return std::chrono::system_clock::from_time_t(noted ? status.st_mtim.tv_sec : 0);
}

} // namespace berth::session
