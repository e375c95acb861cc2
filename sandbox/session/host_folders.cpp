#include "sandbox/session/host_folders.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/session/session_lock.hpp"
#include "sandbox/state_directory.hpp"

#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace berth::session {
namespace {

/// The one that servers with books in files take: whoever was started without the registry waits.
constexpr const char* host_lock_name = "lock";
constexpr const char* mark_name = "last-wanted";
constexpr std::size_t max_mark = 256;

constexpr const char* host_folder_hint =
    "The state directory must be a folder that you may write to; --state-dir or BERTH_STATE_DIR "
    "names another.";

} // namespace

HostFolders::HostFolders(std::string state_directory) : state_directory_(std::move(state_directory))
{
}

std::string HostFolders::path(const std::string& key) const
{
    return state_directory_ + "/sessions/" + key;
}

UniqueFd HostFolders::make_folder(const std::string& key) const
{
    // Judged each time: whoever could write there could free a lock, or have a home removed.
    const UniqueFd state = sandbox::open_state_directory(state_directory_);
    const UniqueFd sessions = open_or_make_subdirectory(state.get(), "sessions");
    UniqueFd folder;
    if (sessions) {
        folder = open_or_make_subdirectory(sessions.get(), key);
    }
    if (!folder) {
        throw sandbox::write_error(errno, "the session's folder cannot be made",
                                   "make the session's folder " + path(key), host_folder_hint);
    }
    return folder;
}

UniqueFd HostFolders::lock(const std::string& key, const Deadline& deadline) const
{
    return lock_file([&] { return make_folder(key); }, host_lock_name, deadline);
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

void HostFolders::set_mark(const std::string& key, const std::string& mark) const
{
    const UniqueFd folder = make_folder(key);
    try {
        // Not flushed: what a power loss takes only lets a home stay for longer.
        write_file_atomically(folder.get(), mark_name, mark, 0600, /*sync=*/false);
    } catch (const std::system_error& error) {
        throw sandbox::write_error(error.code().value(), "the session's folder cannot be used",
                                   "write " + path(key) + '/' + mark_name, host_folder_hint);
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
        // The lock last: who waits for it writes here as soon as it is gone.
        ::unlink((folder + '/' + mark_name).c_str());
        ::unlink((folder + '/' + host_lock_name).c_str());
        ::rmdir(folder.c_str()); // fails while a home is there; then the folder stays for it
    } catch (const std::exception&) {
        return; // an empty folder more
    }
}

} // namespace berth::session
