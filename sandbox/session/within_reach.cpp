#include "sandbox/session/within_reach.hpp"

#include "sandbox/base/mount_table.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <vector>

namespace berth::session {
namespace {

namespace fs = std::filesystem;

/// As the kernel, which follows no more on one way.
constexpr int most_links = 40;

/// Where there is no /proc names are all that is known.
MountTable present_table()
{
    try {
        return MountTable::read();
    } catch (const std::system_error&) {
        return MountTable::parse({});
    }
}

/// The file or folder, then what is mounted below it.
std::vector<MountPiece> pieces_of(const MountTable& table, const std::string& path)
{
    auto pieces = table.pieces(path);
    if (pieces.empty()) {
        pieces.push_back({.device = {}, .path = path, .name = path, .type = {}});
    }
    return pieces;
}

/// What can be written by a sandbox that has them: the source, and what is mounted below it.
std::vector<MountPiece> written_through(const MountTable& table,
                                        const std::vector<sandbox::Mount>& mounts)
{
    std::vector<MountPiece> places;
    for (const auto& mount : mounts) {
        if (mount.writable) {
            std::ranges::move(pieces_of(table, mount.source), std::back_inserter(places));
        }
    }
    return places;
}

/// A folder that is mounted is none that could be replaced from inside; a file is.
bool can_replace(const std::vector<MountPiece>& places, std::vector<MountPiece> entry, bool is_last)
{
    entry.resize(1); // without what is mounted below it
    return std::ranges::any_of(places, [&](const MountPiece& place) {
        const auto seen = seen_at({place}, entry, Seen::whole);
        return !seen.empty() && (is_last || seen.front() != place.name);
    });
}

} // namespace

std::string writable_part(const std::string& path, const std::vector<sandbox::Mount>& mounts)
{
    if (std::ranges::none_of(mounts, &sandbox::Mount::writable)) {
        return {};
    }
    const auto table = present_table();
    const auto places = written_through(table, mounts);
    std::error_code relative;
    std::deque<std::string> rest;
    // Not shortened: where "a/.." leads is for whoever can put a link in the place of a to say.
    for (const auto& each : fs::absolute(path, relative).relative_path()) {
        rest.push_back(each.string());
    }
    fs::path at = "/";
    for (int links = 0; !rest.empty();) {
        const auto name = rest.front();
        rest.pop_front();
        if (name.empty() || name == ".") {
            continue;
        }
        if (name == "..") {
            at = at.parent_path();
            continue;
        }
        const auto entry = at / name;
        if (can_replace(places, pieces_of(table, entry.string()), rest.empty())) {
            return entry.string();
        }
        std::error_code error;
        const auto target = fs::read_symlink(entry, error);
        if (error || ++links > most_links) {
            at = entry;
            continue;
        }
        at = target.is_absolute() ? fs::path("/") : at;
        const auto parts = target.relative_path();
        rest.insert(rest.begin(), parts.begin(), parts.end());
    }
    return {};
}

} // namespace berth::session
