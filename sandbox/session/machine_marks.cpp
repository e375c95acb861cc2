#include "sandbox/session/machine_marks.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/sha256.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/session/key.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <new>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::session {
namespace {

constexpr const char* marks_name = "marks";
constexpr const char* complete_name = "marks/complete";
constexpr std::size_t tag_size = 16;

std::string mark_path(const std::string& key)
{
    return std::string(marks_name) + "/" + key;
}

/// Empty: no mark.
std::string marked_tag(int folder, const std::string& path)
{
    std::array<char, tag_size> tag{};
    const ssize_t size = ::readlinkat(folder, path.c_str(), tag.data(), tag.size());
    return {tag.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

void make_marks(int state)
{
    if (::mkdirat(state, marks_name, 0700) != 0 && errno != EEXIST) {
        throw_errno("make the folder of marks");
    }
}

bool try_mark(int state, const std::string& tag, const std::string& path)
{
    if (::symlinkat(tag.c_str(), state, path.c_str()) == 0) {
        return true;
    }
    if (errno != EEXIST) {
        throw_errno("mark a session as one with a machine");
    }
    return false;
}

UniqueFd open_marks(int state)
{
    return open_subdirectory(state, marks_name);
}

} // namespace

std::string principal_tag(const std::string& principal)
{
    return sha256_hex(principal).substr(0, tag_size);
}

void set_mark(int state, const std::string& key, const std::string& principal)
{
    const auto tag = principal_tag(principal);
    const auto path = mark_path(key);
    make_marks(state);
    if (try_mark(state, tag, path) || marked_tag(state, path) == tag) {
        return;
    }
    // Another principal's by now. At no moment is there none.
    const auto fresh = path + ".new";
    while (!try_mark(state, tag, fresh)) { // of a server that was killed here
        ::unlinkat(state, fresh.c_str(), 0);
    }
    if (::renameat(state, fresh.c_str(), state, path.c_str()) != 0) {
        throw_errno("mark a session as another principal's");
    }
}

void clear_mark(int state, const std::string& key) noexcept
{
    try {
        ::unlinkat(state, mark_path(key).c_str(), 0);
    } catch (const std::bad_alloc&) {
        return;
    }
}

std::optional<std::vector<std::string>> marked_keys(int state)
{
    struct stat status{};
    if (::fstatat(state, complete_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return std::nullopt;
    }
    const UniqueFd folder = open_marks(state);
    if (!folder) {
        throw_errno("open the folder of marks");
    }
    auto names = directory_names(folder.get());
    std::erase_if(names, [](const std::string& name) { return !is_key(name); });
    return names;
}

void marks_are_complete(int state)
{
    make_marks(state);
    const UniqueFd file(
        ::openat(state, complete_name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) {
        throw_errno("note that all marks are there");
    }
}

std::vector<std::string> marked_as_of(int state, const std::string& principal,
                                      const std::vector<std::string>& keys)
{
    const UniqueFd folder = open_marks(state);
    if (!folder) {
        return keys; // nobody knows whose they are
    }
    const auto tag = principal_tag(principal);
    std::vector<std::string> found;
    std::copy_if(keys.begin(), keys.end(), std::back_inserter(found), [&](const std::string& key) {
        const auto marked = marked_tag(folder.get(), key);
        return marked.empty() || marked == tag;
    });
    return found;
}

} // namespace berth::session
