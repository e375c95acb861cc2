#include "sandbox/guest/quota/home_area.hpp"

#include "sandbox/base/is_in.hpp"
#include "sandbox/base/real_path.hpp"
#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/search/walker.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace berth::guest {
namespace {

constexpr std::uint64_t block = 512; ///< of st_blocks

/// A directory's own room, nearly always: not worth a system call for each.
constexpr std::uint64_t directory_room = 4096;

class RoomCounter : public search::WalkVisitor {
  public:
    explicit RoomCounter(const HomeArea& area) : area_(area) {}

    void visit(unsigned /*thread*/, const search::WalkedFile& file) override
    {
        struct stat status = {};
        if (!area_.contains(file.path) ||
            ::fstatat(file.dirfd, file.name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) {
            return;
        }
        // By its share, so that no list of the files with several names is needed: such a list
        // would be as long as whoever makes links wants it.
        room_ += static_cast<std::uint64_t>(status.st_blocks) * block /
                 std::max<std::uint64_t>(status.st_nlink, 1);
    }

    [[nodiscard]] bool enters(std::string_view path) const noexcept override
    {
        const bool ours = area_.contains(path);
        room_ += ours ? directory_room : 0;
        return ours;
    }

    [[nodiscard]] bool wants(std::string_view /*path*/) const noexcept override { return true; }

    [[nodiscard]] std::uint64_t room() const noexcept { return room_; }

  private:
    const HomeArea& area_;
    mutable std::atomic<std::uint64_t> room_ = directory_room; ///< of the home itself
};

} // namespace

HomeArea::HomeArea(const std::string& home, const std::vector<std::string>& mounts)
    : home_(real_path(home).value_or(home))
{
    for (const auto& mount : mounts) {
        if (is_in(mount, home_)) {
            mounts_.push_back(mount);
        }
    }
}

bool HomeArea::contains(std::string_view path) const noexcept
{
    return is_in(path, home_) &&
           std::none_of(mounts_.begin(), mounts_.end(),
                        [&](const std::string& mount) { return is_in(path, mount); });
}

std::optional<std::uint64_t> HomeArea::count(const std::stop_token& stop,
                                             std::uint64_t milliseconds) const
{
    UniqueFd home(::open(home_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!home) {
        return std::nullopt;
    }
    search::SearchLimits limits(stop, milliseconds);
    const search::Selection all(home_, {}, "", true);
    RoomCounter counter(*this);
    search::WalkTotals totals;
    search::walk(std::move(home), home_, all,
                 {.use_ignore_files = false, .git = true, .symlinks = true, .threads = 1}, limits,
                 counter, totals);
    if (limits.must_stop()) {
        return std::nullopt;
    }
    return counter.room();
}

} // namespace berth::guest
