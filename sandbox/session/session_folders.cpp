#include "sandbox/session/session_folders.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/session/key.hpp"
#include "sandbox/state_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace berth::session {
namespace {

constexpr const char* folder_name = "sessions";

UniqueFd open_below(int parent, const char* name, const std::string& path)
{
    UniqueFd folder = open_subdirectory(parent, name);
    if (!folder && errno != ENOENT) {
        throw sandbox::access_error(errno, "open " + path, SessionFolders::hint());
    }
    return folder;
}

} // namespace

SessionFolders::SessionFolders(std::string state_directory)
    : state_directory_(std::move(state_directory)), sessions_(state_directory_ + '/' + folder_name)
{
}

std::string SessionFolders::path(const std::string& key) const
{
    if (!is_key(key)) {
        throw Error(ErrorCode::backend_error,
                    visible_beginning(key, 2 * key_size) + " is no key of a session",
                    "whoever wrote that into the registry of the sessions was no berth: see who "
                    "may write to it");
    }
    return sessions_ + '/' + key;
}

const char* SessionFolders::hint() noexcept
{
    return "The state directory must be a folder that you may write to; --state-dir or "
           "BERTH_STATE_DIR names another.";
}

UniqueFd SessionFolders::open_all() const
{
    const UniqueFd state = sandbox::find_state_directory(state_directory_);
    return state ? open_below(state.get(), folder_name, sessions_) : UniqueFd{};
}

UniqueFd SessionFolders::open(const std::string& key) const
{
    const std::string shown = path(key);
    const UniqueFd sessions = open_all();
    return sessions ? open_below(sessions.get(), key.c_str(), shown) : UniqueFd{};
}

UniqueFd SessionFolders::make(const std::string& key) const
{
    (void)path(key); // before the state directory is made for it
    return make(sandbox::open_state_directory(state_directory_).get(), key);
}

UniqueFd SessionFolders::make(int state, const std::string& key) const
{
    const std::string shown = path(key);
    const UniqueFd sessions = open_or_make_subdirectory(state, folder_name);
    UniqueFd folder;
    if (sessions) {
        folder = open_or_make_subdirectory(sessions.get(), key);
    }
    if (!folder) {
        throw sandbox::write_error(errno, "the session's folder cannot be made",
                                   "make the session's folder " + shown, hint());
    }
    return folder;
}

std::vector<std::string> SessionFolders::keys(const Wanted& wanted) const
{
    const UniqueFd sessions = open_all();
    if (!sessions) {
        return {};
    }
    auto found = directory_names(sessions.get());
    std::erase_if(found, [&](const std::string& name) {
        return !is_key(name) || !wanted(sessions.get(), name);
    });
    std::sort(found.begin(), found.end());
    return found;
}

} // namespace berth::session
