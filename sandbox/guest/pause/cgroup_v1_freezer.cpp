#include "sandbox/guest/pause/cgroup_v1_freezer.hpp"

#include <array>
#include <cstddef>
#include <string_view>

#include <unistd.h>

namespace berth::guest {
namespace {

bool write_word(int state, std::string_view word) noexcept
{
    return ::pwrite(state, word.data(), word.size(), 0) == static_cast<ssize_t>(word.size());
}

} // namespace

bool CgroupV1Freezer::begin()
{
    return write_word(state_, "FROZEN");
}

/// The kernel looks whether all have come to rest when the file is read (Linux 3.3).
bool CgroupV1Freezer::is_at_rest()
{
    constexpr std::string_view frozen = "FROZEN\n";
    std::array<char, 16> text{};
    const ssize_t size = ::pread(state_, text.data(), text.size(), 0);
    return size > 0 && std::string_view(text.data(), static_cast<std::size_t>(size)) == frozen;
}

void CgroupV1Freezer::undo() noexcept
{
    (void)write_word(state_, "THAWED");
}

} // namespace berth::guest
