#include "sandbox/guest/protection/protected_book.hpp"

#include "sandbox/base/is_in.hpp"
#include "sandbox/guest/protection/protected_names.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <limits>
#include <utility>

#include <fcntl.h>

namespace berth::guest {
namespace {

using protocol::Change;

constexpr std::size_t most_known = 4000;
constexpr std::size_t most_removed = 64;

bool is_unread(const std::string& path, const ProtectedScan& seen)
{
    return std::ranges::any_of(seen.unread,
                               [&](const std::string& place) { return is_in(path, place); });
}

/// When the folder of what is gone was changed the last time; of one that is gone too, its own.
std::int64_t folder_changed(std::string path)
{
    for (;;) {
        path.resize(std::max<std::size_t>(path.rfind('/'), 1));
        if (const auto stamp = stamp_of(AT_FDCWD, path)) {
            return stamp->changed;
        }
        if (path == "/") {
            return 0;
        }
    }
}

} // namespace

std::vector<protocol::ProtectedChange> ProtectedBook::look(const protocol::Protection& protection,
                                                           const std::vector<std::string>& places,
                                                           std::int64_t began)
{
    auto changes = take(protection, places, began, stamp_time_now());
    if (changes.size() > most_told) {
        // A folder that was filled hides nothing that was done beside it.
        std::ranges::sort(changes, {}, [&](const auto& change) {
            return std::pair(is_in_whole_folder(change.path, protection), change.path);
        });
        changes.resize(most_told);
    }
    return changes;
}

void ProtectedBook::get_to_know(const protocol::Protection& protection,
                                const std::vector<std::string>& places) noexcept
{
    constexpr auto never = std::numeric_limits<std::int64_t>::max();
    try {
        keep(take(protection, places, never, stamp_time_now() + 1));
    } catch (const std::exception&) {
        end_knowing(); // the look behind the command finds what it changed all the same
        return;
    }
    end_knowing();
}

/// `noticed`: from before the look, so that what changes meanwhile is found by the next one. Under
/// the lock nothing touches a disk: the loop's thread asks too.
ProtectedBook::Changes ProtectedBook::take(const protocol::Protection& protection,
                                           const std::vector<std::string>& places,
                                           std::int64_t began, std::int64_t noticed)
{
    const auto seen = scan_(protection, places, config_);
    Changes changes;
    Changes gone;
    {
        const std::lock_guard lock(mutex_);
        changes = std::exchange(kept_, {});
        tell_removed(began, changes);
        take_present(seen, began, noticed, changes);
        gone = take_absent(seen, noticed);
        folders_.insert(seen.folders.begin(), seen.folders.end());
        make_room(seen);
    }
    for (auto& change : gone) {
        change.before = folder_changed(change.path) < began;
        changes.push_back(std::move(change));
    }
    return changes;
}

void ProtectedBook::take_present(const ProtectedScan& seen, std::int64_t began, std::int64_t now,
                                 Changes& changes)
{
    for (const auto& [path, file] : seen.files) {
        const auto found = files_.find(path);
        const bool known = found != files_.end();
        const bool during = file.stamp.changed >= began;
        if (known && found->second.stamp == file.stamp) {
            found->second.folder = file.folder;
            // Another command's look, or a tool's, has found it while this one ran.
            if (during && found->second.noticed > began) {
                changes.push_back({.path = path, .change = Change::changed});
            }
            continue;
        }
        const bool comes = !known && folders_.contains(file.folder);
        files_.insert_or_assign(path, Known{file.folder, file.stamp, now});
        if (known || comes || during) {
            changes.push_back({.path = path,
                               .change = comes ? Change::created : Change::changed,
                               .before = !during});
        }
    }
}

ProtectedBook::Changes ProtectedBook::take_absent(const ProtectedScan& seen, std::int64_t now)
{
    Changes gone;
    for (auto entry = files_.begin(); entry != files_.end();) {
        const auto& [path, known] = *entry;
        if (!seen.folders.contains(known.folder) || seen.files.contains(path) ||
            is_unread(path, seen)) {
            ++entry;
            continue;
        }
        gone.push_back({.path = path, .change = Change::removed});
        removed_.push_back({path, now});
        entry = files_.erase(entry);
    }
    while (removed_.size() > most_removed) {
        removed_.pop_front();
    }
    return gone;
}

void ProtectedBook::tell_removed(std::int64_t began, Changes& changes) const
{
    for (const auto& gone : removed_) {
        if (gone.noticed > began) {
            changes.push_back({.path = gone.path, .change = Change::removed});
        }
    }
}

/// A session that goes through many folders: those that were left are looked at anew.
void ProtectedBook::make_room(const ProtectedScan& seen)
{
    if (files_.size() + folders_.size() <= most_known) {
        return;
    }
    folders_ = seen.folders;
    std::erase_if(files_,
                  [&](const auto& entry) { return !seen.folders.contains(entry.second.folder); });
}

void ProtectedBook::keep(std::vector<protocol::ProtectedChange> changes)
{
    for (auto& change : changes) {
        change.before = true;
    }
    const std::lock_guard lock(mutex_);
    kept_.insert(kept_.end(), std::make_move_iterator(changes.begin()),
                 std::make_move_iterator(changes.end()));
    kept_.resize(std::min(kept_.size(), most_told));
}

bool ProtectedBook::knows(const std::string& place) const
{
    const std::lock_guard lock(mutex_);
    return folders_.contains(place);
}

void ProtectedBook::wrote(const std::string& path)
{
    const auto stamp = stamp_of(AT_FDCWD, path);
    const std::int64_t now = stamp_time_now();
    const std::lock_guard lock(mutex_);
    const auto known = files_.find(path);
    if (!stamp) {
        if (known != files_.end()) {
            files_.erase(known);
        }
    } else if (known != files_.end()) {
        known->second.stamp = *stamp;
        known->second.noticed = now;
    } else {
        files_.emplace(path, Known{"", *stamp, now});
    }
}

} // namespace berth::guest
