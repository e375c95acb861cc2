#include "sandbox/workspace/sweep.hpp"

#include "sandbox/base/directory.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/workspace/journal.hpp"
#include "sandbox/workspace/writer_area.hpp"

#include <chrono>
#include <cstddef>
#include <ctime>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::workspace {
namespace {

/// A collection waits for nobody who saves: that save sweeps by itself.
constexpr std::chrono::milliseconds sweep_patience{200};
constexpr std::time_t plain_age = 24L * 3600;

/// Of releases whose writers held nothing. Their files say no more than when they were last written
/// to.
bool is_old(const struct stat& status)
{
    return std::time(nullptr) - status.st_mtim.tv_sec > plain_age;
}

/// What make_area() calls a principal's folder.
bool is_area_name(std::string_view name)
{
    constexpr std::size_t digits = 64;
    return name.size() == digits &&
           name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void sweep_area(const UniqueFd& top, const std::string& root, const std::string& name, Swept& swept)
{
    const Area area = open_area_in(top, root, name);
    if (!area.temporary ||
        (!is_publication_open(area) && directory_names(area.temporary.get()).empty())) {
        return; // as nearly all of them: nobody is to wait for a look
    }
    const AreaLock lock(area, AreaLock::Mode::exclusive, sweep_patience);
    const Swept here = sweep(area);
    swept.files += here.files;
    swept.bytes += here.bytes;
}

} // namespace

Swept sweep(const Area& area)
{
    Swept swept;
    const int temporary = area.temporary.get();
    std::map<std::string, bool, std::less<>> held; // a save may have thousands of files
    for (const auto& name : directory_names(temporary)) {
        struct stat status{};
        if (::fstatat(temporary, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        const auto mark = mark_of(name);
        if (mark && !held.contains(*mark)) {
            held.emplace(*mark, is_held(temporary, *mark));
        }
        // What was replaced nobody needs without an open publication.
        const bool is_dead =
            is_replaced_name(name) || (mark ? !held.find(*mark)->second : is_old(status));
        if (is_dead && ::unlinkat(temporary, name.c_str(), 0) == 0) {
            ++swept.files;
            swept.bytes += static_cast<std::uint64_t>(status.st_size);
        }
    }
    return swept;
}

Swept sweep_workspace(const std::string& root, const Deadline& deadline,
                      const std::stop_token& stop)
{
    Swept swept;
    const UniqueFd top = open_top(root);
    const auto names = top ? directory_names(top.get()) : std::vector<std::string>();
    for (const auto& name : names) {
        if (deadline.expired() || stop.stop_requested()) {
            swept.complete = false;
            break;
        }
        try {
            if (is_area_name(name)) {
                sweep_area(top, root, name, swept);
            }
        } catch (const Error& error) {
            if (error.code() != ErrorCode::busy) {
                swept.failed.emplace_back(error.what());
            }
        } catch (const std::exception& error) {
            swept.failed.emplace_back(error.what());
        }
    }
    return swept;
}

} // namespace berth::workspace
