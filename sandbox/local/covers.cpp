#include "sandbox/local/covers.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace berth::local {
namespace {

using Folders = decltype(Covers::Begun::folders);

Folders folders_now(const Private& wanted)
{
    auto paths = wanted.folders;
    paths.push_back(wanted.home);
    Folders folders;
    std::ranges::transform(paths, std::back_inserter(folders), [](const std::string& path) {
        constexpr std::int64_t second = 1'000'000'000;
        constexpr unsigned device_bits = 32;
        struct statx status = {};
        Folders::value_type folder;
        if (::statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &status) == 0) {
            folder = {
                (std::uint64_t{status.stx_dev_major} << device_bits) | status.stx_dev_minor,
                {status.stx_ino, status.stx_btime.tv_sec * second + status.stx_btime.tv_nsec}};
        }
        return folder;
    });
    return folders;
}

} // namespace

Covers::Covers(std::vector<Bind> binds, Private wanted)
    : binds_(std::move(binds)), wanted_(std::move(wanted))
{
}

std::vector<Cover> Covers::look(bool& made)
{
    auto found = find_hidden(binds_, wanted_, &made);
    const std::lock_guard lock(mutex_);
    latest_ = found;
    return found;
}

std::vector<Cover> Covers::latest()
{
    {
        const std::lock_guard lock(mutex_);
        if (latest_) {
            return *latest_;
        }
    }
    bool made = false;
    return look(made);
}

Covers::Begun Covers::begin()
{
    auto covers = latest(); // first: what is missing may be made by it
    return {.covers = std::move(covers), .folders = folders_now(wanted_)};
}

void Covers::require(const Begun& begun)
{
    bool made = false;
    if (look(made) != begun.covers || made || folders_now(wanted_) != begun.folders) {
        throw CoversChanged();
    }
}

} // namespace berth::local
