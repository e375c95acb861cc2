#include "server/options/file_watch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <sys/stat.h>

namespace berth::server {
namespace {

/// Who writes a file anew empties it first: in that moment it would be one without settings.
constexpr std::chrono::milliseconds settles{500};

/// And who makes it by a program may take a while.
constexpr std::chrono::seconds empty_settles{10};

} // namespace

FileWatch::Stamp FileWatch::stamp(const std::string& path)
{
    Stamp found{.path = path};
    struct stat status = {};
    if (!found.path.empty() && ::stat(found.path.c_str(), &status) == 0) {
        constexpr std::int64_t nanoseconds = 1'000'000'000;
        found.device = status.st_dev;
        found.inode = status.st_ino;
        found.size = status.st_size;
        // Of the content or of the name: mv puts an older file in the place of a newer one.
        found.changed = std::max(status.st_mtim.tv_sec * nanoseconds + status.st_mtim.tv_nsec,
                                 status.st_ctim.tv_sec * nanoseconds + status.st_ctim.tv_nsec);
    }
    return found;
}

FileWatch::State FileWatch::look(const std::string& path)
{
    const Stamp now = stamp(path);
    const bool same = std::exchange(seen_, now) == now;
    if (now == taken_) {
        return State::same;
    }
    const auto age =
        std::chrono::system_clock::now().time_since_epoch() - std::chrono::nanoseconds(now.changed);
    // Of a file from the future, or none, that two looks saw the same tells as well.
    if (!same && (now.size < 0 || age < settles)) {
        return State::same;
    }
    if (now.size == 0 && age < empty_settles) {
        return State::same;
    }
    taken_ = now;
    return now.size < 0 ? State::gone : State::changed;
}

} // namespace berth::server
