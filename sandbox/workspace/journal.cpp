#include "sandbox/workspace/journal.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/workspace/store_error.hpp"
#include "sandbox/workspace/tree.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::workspace {
namespace {

constexpr const char* journal = "journal";
constexpr std::string_view replaced_suffix = ".old";
/// Many times what the largest save needs: 10 000 paths of 4 095 bytes.
constexpr std::size_t largest_journal = 64UL * 1024 * 1024;

// A record is "<temporary> <0 or 1> <path>\0"; only a path can have any byte but NUL.
std::string encode(const std::vector<Placement>& placements)
{
    std::string text;
    for (const auto& placement : placements) {
        text += placement.temporary + (placement.replaces ? " 1 " : " 0 ") + placement.path;
        text += '\0';
    }
    return text;
}

std::vector<Placement> decode(std::string_view text)
{
    std::vector<Placement> placements;
    while (!text.empty()) {
        const auto record = text.substr(0, text.find('\0'));
        text.remove_prefix(std::min(text.size(), record.size() + 1));
        const auto space = record.find(' ');
        if (space == std::string_view::npos || record.size() < space + 4 ||
            (record.substr(space, 4) != " 0 /" && record.substr(space, 4) != " 1 /")) {
            throw Error(ErrorCode::backend_error,
                        "the workspace's journal of an unfinished save is damaged",
                        "ask who runs the server to look at the workspace's directory");
        }
        placements.push_back({std::string(record.substr(0, space)),
                              std::string(record.substr(space + 3)), record[space + 1] == '1'});
    }
    return placements;
}

bool exists(int directory, const std::string& name)
{
    struct stat status{};
    return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

void undo(const Area& area, const Placement& placement)
{
    const int temporary = area.temporary.get();
    const auto [folder_path, name] = split(placement.path);
    const UniqueFd folder = open_below(area.files.get(), folder_path, O_RDONLY | O_DIRECTORY);
    if (!folder) {
        return; // nothing was placed there
    }
    int result = 0;
    if (placement.replaces) {
        const std::string old = replaced_name(placement.temporary);
        result = ::renameat(temporary, old.c_str(), folder.get(), name.c_str());
    } else if (!exists(temporary, placement.temporary)) {
        result = ::unlinkat(folder.get(), name.c_str(), 0);
    }
    if (result != 0 && errno != ENOENT) {
        throw store_error(errno, "take back the unfinished save of " + visible(placement.path));
    }
    ::unlinkat(temporary, placement.temporary.c_str(), 0);
    prune(area.files.get(), folder_path);
}

} // namespace

bool is_publication_open(const Area& area) noexcept
{
    return ::faccessat(area.own.get(), journal, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void open_publication(const Area& area, const std::vector<Placement>& placements)
{
    // So it has the writer's mark, and goes with the writer.
    const std::string name = placements.front().temporary + ".journal";
    const UniqueFd fd(::openat(area.temporary.get(), name.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    int error = fd ? 0 : errno;
    try {
        write_full(fd.get(), encode(placements));
    } catch (const std::system_error& failure) {
        error = error != 0 ? error : failure.code().value();
    }
    if (error == 0 &&
        (::fsync(fd.get()) != 0 ||
         ::renameat(area.temporary.get(), name.c_str(), area.own.get(), journal) != 0 ||
         ::fsync(area.own.get()) != 0)) {
        error = errno;
    }
    if (error != 0) {
        ::unlinkat(area.temporary.get(), name.c_str(), 0);
        ::unlinkat(area.own.get(), journal, 0);
        throw saving_error(error, "note a save in the workspace");
    }
}

void close_publication(const Area& area)
{
    // All that was placed must be on the disk before the note of it is gone from there.
    if (::syncfs(area.own.get()) != 0 || ::unlinkat(area.own.get(), journal, 0) != 0) {
        throw store_error(errno, "flush the workspace to its disk");
    }
    ::fsync(area.own.get());
}

void undo_publication(const Area& area)
{
    std::string text;
    try {
        text = read_file_limited(area.own.get(), journal, largest_journal);
    } catch (const std::system_error& error) {
        if (error.code().value() == ENOENT) {
            return; // somebody else was faster
        }
        throw store_error(error.code().value(), "read the workspace's journal");
    }
    const auto placements = decode(text);
    for (auto placement = placements.rbegin(); placement != placements.rend(); ++placement) {
        undo(area, *placement);
    }
    close_publication(area);
}

std::string replaced_name(const std::string& temporary)
{
    return temporary + std::string(replaced_suffix);
}

bool is_replaced_name(std::string_view name) noexcept
{
    return name.ends_with(replaced_suffix);
}

} // namespace berth::workspace
