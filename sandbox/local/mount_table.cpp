#include "sandbox/local/mount_table.hpp"

#include "sandbox/base/io.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>

#include <fcntl.h>

namespace berth::local {
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

/// "36 35 98:0 /root /target options optional... - type source options"
std::optional<MountPiece> parse_line(std::string_view line)
{
    std::array<std::string_view, 5> fields;
    for (auto& field : fields) {
        field = take(line, ' ');
    }
    const auto dash = line.find(" - ");
    if (dash == std::string_view::npos) {
        return std::nullopt;
    }
    line.remove_prefix(dash + 3);
    return MountPiece{.device = std::string(fields[2]),
                      .path = unescaped(fields[3]),
                      .name = unescaped(fields[4]),
                      .type = unescaped(take(line, ' '))};
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

std::string joined(const std::string& folder, const std::string& rest)
{
    return folder == "/" && !rest.empty() ? rest : folder + rest;
}

} // namespace

MountTable MountTable::parse(std::string_view mountinfo)
{
    MountTable table;
    while (!mountinfo.empty()) {
        if (auto mount = parse_line(take(mountinfo, '\n'))) {
            table.mounts_.push_back(std::move(*mount));
        }
    }
    return table;
}

MountTable MountTable::read()
{
    constexpr std::size_t enough = 64UL << 20U;
    return parse(read_file_limited(AT_FDCWD, "/proc/self/mountinfo", enough));
}

std::vector<MountPiece> MountTable::pieces(const std::string& path) const
{
    std::vector<MountPiece> found;
    const MountPiece* holder = nullptr;
    for (const auto& mount : mounts_) {
        // Of two on one place the later one is on top.
        if (path.starts_with('/') && rest_below(mount.name, path) &&
            (holder == nullptr || mount.name.size() >= holder->name.size())) {
            holder = &mount;
        }
    }
    if (holder == nullptr) {
        return found;
    }
    found.push_back({.device = holder->device,
                     .path = joined(holder->path, *rest_below(holder->name, path)),
                     .name = path,
                     .type = holder->type});
    for (const auto& mount : mounts_) {
        const auto rest = rest_below(path, mount.name);
        if (rest && !rest->empty()) {
            found.push_back(mount);
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
                names.insert(joined(shown.name, *rest));
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

} // namespace berth::local
