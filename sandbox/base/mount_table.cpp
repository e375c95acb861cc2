#include "sandbox/base/mount_table.hpp"

#include "sandbox/base/io.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include <fcntl.h>

namespace berth {
namespace {

/// The kernel writes blanks, line ends and backslashes as three octal digits.
std::string unescaped(std::string_view text)
{
    std::string plain;
    const auto octal = [&](std::size_t at) {
        return at < text.size() && text[at] >= '0' && text[at] <= '7';
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
            plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                       (text[i + 3] - '0'));
            i += 3;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

std::string_view take(std::string_view& text, char end)
{
    const auto at = text.find(end);
    const auto taken = text.substr(0, at);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
    return taken;
}

unsigned number(std::string_view text)
{
    unsigned value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// What follows `folder` in `path`: "" for the folder itself, else with a slash in front.
std::optional<std::string> rest_below(std::string_view folder, std::string_view path)
{
    if (folder == "/") {
        return path == "/" ? "" : std::string(path);
    }
    if (!path.starts_with(folder)) {
        return std::nullopt;
    }
    path.remove_prefix(folder.size());
    return path.empty() || path.front() == '/' ? std::optional(std::string(path)) : std::nullopt;
}

std::string path_below(const std::string& folder, const std::string& rest)
{
    return folder == "/" && !rest.empty() ? rest : folder + rest;
}

} // namespace

/// "36 35 98:0 /root /target options optional... - type source options"
bool MountTable::parse_line(std::string_view line, Mount& mount)
{
    std::array<std::string_view, 5> fields;
    for (auto& field : fields) {
        field = take(line, ' ');
    }
    const auto dash = line.find(" - ");
    if (dash == std::string_view::npos) {
        return false;
    }
    line.remove_prefix(dash + 3);
    mount = {.id = number(fields[0]),
             .parent = number(fields[1]),
             .piece = {.device = std::string(fields[2]),
                       .path = unescaped(fields[3]),
                       .name = unescaped(fields[4]),
                       .type = unescaped(take(line, ' '))}};
    return true;
}

MountTable MountTable::parse(std::string_view mountinfo)
{
    MountTable table;
    while (!mountinfo.empty()) {
        Mount mount;
        if (parse_line(take(mountinfo, '\n'), mount)) {
            table.mounts_.push_back(std::move(mount));
        }
    }
    return table;
}

MountTable MountTable::read()
{
    constexpr std::size_t enough = 64UL << 20U;
    return parse(read_file_limited(AT_FDCWD, "/proc/self/mountinfo", enough));
}

/// The one that is on no other. None in a chroot into a folder that is no mount.
const MountTable::Mount* MountTable::root() const
{
    const auto found = std::find_if(mounts_.begin(), mounts_.end(), [&](const Mount& mount) {
        return mount.piece.name == "/" &&
               std::none_of(mounts_.begin(), mounts_.end(), [&](const Mount& other) {
                   return other.id == mount.parent && other.id != mount.id;
               });
    });
    return found == mounts_.end() ? nullptr : &*found;
}

const MountTable::Mount* MountTable::on(const Mount& parent, std::string_view place) const
{
    const auto found = std::find_if(mounts_.begin(), mounts_.end(), [&](const Mount& mount) {
        return mount.parent == parent.id && mount.id != parent.id && mount.piece.name == place;
    });
    return found == mounts_.end() ? nullptr : &*found;
}

/// As the kernel comes to a path, mount by mount: the longest name may be of one that another has
/// covered with all that it is in.
const MountTable::Mount* MountTable::holder(const std::string& path) const
{
    const Mount* at = root();
    if (at == nullptr) {
        for (const auto& mount : mounts_) {
            if (rest_below(mount.piece.name, path) &&
                (at == nullptr || mount.piece.name.size() >= at->piece.name.size())) {
                at = &mount;
            }
        }
        return at;
    }
    // No mount is come to twice, unless the table changed while it was read and has a circle now.
    std::size_t left = mounts_.size();
    for (std::size_t end = 0; end != std::string::npos;) {
        const auto place = end == 0 ? std::string_view("/") : std::string_view(path).substr(0, end);
        for (const Mount* next = on(*at, place); next != nullptr && left > 0; --left) {
            at = next;
            next = on(*at, place);
        }
        end =
            end == path.size() ? std::string::npos : std::min(path.find('/', end + 1), path.size());
    }
    return at;
}

std::vector<MountPiece> MountTable::pieces(const std::string& path) const
{
    std::vector<MountPiece> found;
    const Mount* const at = path.starts_with('/') ? holder(path) : nullptr;
    if (at == nullptr) {
        return found;
    }
    found.push_back({.device = at->piece.device,
                     .path = path_below(at->piece.path, *rest_below(at->piece.name, path)),
                     .name = path,
                     .type = at->piece.type});
    for (const auto& mount : mounts_) {
        const auto rest = rest_below(path, mount.piece.name);
        if (rest && !rest->empty()) {
            found.push_back(mount.piece);
        }
    }
    return found;
}

std::vector<std::string> seen_at(const std::vector<MountPiece>& tree,
                                 const std::vector<MountPiece>& folder, Seen seen)
{
    std::set<std::string> names;
    for (const auto& shown : tree) {
        for (const auto& own : folder) {
            if (shown.device != own.device) {
                continue;
            }
            if (const auto rest = rest_below(shown.path, own.path)) {
                names.insert(path_below(shown.name, *rest));
            } else if (seen == Seen::in_part && rest_below(own.path, shown.path)) {
                names.insert(shown.name);
            }
        }
    }
    std::vector<std::string> outermost;
    for (const auto& name : names) {
        if (std::none_of(outermost.begin(), outermost.end(), [&](const std::string& outer) {
                return rest_below(outer, name).has_value();
            })) {
            outermost.push_back(name);
        }
    }
    return outermost;
}

} // namespace berth
