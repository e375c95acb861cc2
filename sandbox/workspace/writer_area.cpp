#include "sandbox/workspace/writer_area.hpp"

#include "sandbox/base/random.hpp"
#include "sandbox/workspace/store_error.hpp"
#include "sandbox/workspace/sweep.hpp"

#include <cerrno>
#include <charconv>
#include <cstddef>

#include <fcntl.h>

namespace berth::workspace {
namespace {

/// As many as a position in a file has room for, which is no negative number.
constexpr std::size_t mark_digits = 15;

/// Nothing when `mark` is none.
std::optional<struct flock> lock_of(std::string_view mark, short type) noexcept
{
    off_t start = 0;
    const char* const begin = mark.data();
    const char* const end = begin + mark.size();
    const auto read = std::from_chars(begin, end, start, 16);
    if (mark.size() != mark_digits || read.ec != std::errc() || read.ptr != end || start < 0) {
        return std::nullopt;
    }
    struct flock lock{};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = start;
    lock.l_len = 1;
    return lock;
}

} // namespace

WriterArea::WriterArea(const std::string& root, const std::string& principal)
    : area_(make_area(root, principal)), mark_(random_hex(8).substr(0, mark_digits))
{
    {
        const AreaLock lock(area_, AreaLock::Mode::exclusive);
        (void)sweep(area_);
    }
    // Before there is a file of that name. To share, as a folder is never open for writing.
    auto lock = lock_of(mark_, F_RDLCK);
    if (!lock || ::fcntl(area_.temporary.get(), F_OFD_SETLK, &*lock) != 0) {
        throw store_error(errno, "lock a mark in the workspace");
    }
}

std::string WriterArea::new_name() const
{
    return mark_ + '-' + random_hex(16);
}

std::optional<std::string_view> mark_of(std::string_view name) noexcept
{
    const auto mark = name.substr(0, mark_digits);
    const bool is_marked = name.size() > mark_digits && name[mark_digits] == '-';
    return is_marked && lock_of(mark, F_RDLCK) ? std::optional(mark) : std::nullopt;
}

bool is_held(int temporary, std::string_view mark) noexcept
{
    auto lock = lock_of(mark, F_WRLCK);
    return !lock || ::fcntl(temporary, F_OFD_GETLK, &*lock) != 0 || lock->l_type != F_UNLCK;
}

} // namespace berth::workspace
