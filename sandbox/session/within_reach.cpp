#include "sandbox/session/within_reach.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace berth::session {
namespace {

namespace fs = std::filesystem;

/// As the kernel, which follows no more on one way.
constexpr int most_links = 40;

/// A line of /proc/self/mountinfo.
struct Mounted {
    std::string device;
    fs::path root; ///< in its file system
    fs::path point;
};

/// Where something lies, whatever it is called.
struct Place {
    std::string device;
    fs::path path;
};

/// The kernel writes blanks and backslashes as \ooo.
std::string decoded(const std::string& text)
{
    constexpr std::size_t digits = 3;
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + digits >= text.size()) {
            plain += text[i];
            continue;
        }
        int code = 0;
        for (std::size_t digit = 1; digit <= digits; ++digit) {
            code = code * 8 + (text[i + digit] - '0');
        }
        plain += static_cast<char>(code);
        i += digits;
    }
    return plain;
}

std::vector<Mounted> mount_table()
{
    std::vector<Mounted> table;
    std::ifstream lines("/proc/self/mountinfo");
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string id;
        std::string parent;
        std::string device;
        std::string root;
        std::string point;
        if (fields >> id >> parent >> device >> root >> point) {
            table.push_back({device, decoded(root), decoded(point)});
        }
    }
    return table;
}

bool is_below(const fs::path& outer, const fs::path& inner)
{
    if (outer == "/") {
        return true;
    }
    const auto [end, other] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
    return end == outer.end();
}

/// Of a path without links. What is mounted last on a point is seen there.
Place place_of(const std::vector<Mounted>& table, const fs::path& path)
{
    const Mounted* on = nullptr;
    for (const auto& each : table) {
        const auto length = std::distance(each.point.begin(), each.point.end());
        if (is_below(each.point, path) &&
            (on == nullptr || length >= std::distance(on->point.begin(), on->point.end()))) {
            on = &each;
        }
    }
    if (on == nullptr) {
        return {{}, path};
    }
    const auto rest = path.lexically_relative(on->point);
    return {on->device, rest == "." ? on->root : on->root / rest};
}

/// What can be written by a sandbox that has them: the source, and what is mounted below it.
std::vector<Place> places_of(const std::vector<Mounted>& table,
                             const std::vector<sandbox::Mount>& mounts)
{
    std::vector<Place> places;
    for (const auto& mount : mounts) {
        if (!mount.writable) {
            continue;
        }
        const fs::path source(mount.source);
        places.push_back(place_of(table, source));
        for (const auto& each : table) {
            if (each.point != source && is_below(source, each.point)) {
                places.push_back({each.device, each.root});
            }
        }
    }
    return places;
}

/// A folder that is mounted is none that could be replaced from inside; a file is.
bool can_replace(const std::vector<Place>& places, const Place& entry, bool is_last)
{
    return std::ranges::any_of(places, [&](const Place& place) {
        return place.device == entry.device && is_below(place.path, entry.path) &&
               (is_last || place.path != entry.path);
    });
}

} // namespace

std::string writable_part(const std::string& path, const std::vector<sandbox::Mount>& mounts)
{
    if (std::ranges::none_of(mounts, &sandbox::Mount::writable)) {
        return {};
    }
    const auto table = mount_table();
    const auto places = places_of(table, mounts);
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
        if (can_replace(places, place_of(table, entry), rest.empty())) {
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
