#include "sandbox/local/launcher/kernel_shares.hpp"

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/local/launcher/rlimits.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace berth::local {
namespace {

constexpr long sessions_for_all = 4; // as many together take all that there is

/// 0 where it cannot be read.
long number_in(const Root& root, const std::string& path)
{
    const UniqueFd file(::openat(root.fd(), path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    std::array<char, 32> text{};
    const auto size = file ? ::read(file.get(), text.data(), text.size()) : -1;
    long number = 0;
    if (size > 0) {
        (void)std::from_chars(text.data(), text.data() + size, number);
    }
    return number;
}

/// `hosts` is the same file in every namespace; `own` is of the namespace of who opens it.
void limit_to_share(const Root& root, const std::string& hosts, const std::string& own)
{
    const long all = number_in(root, "proc/sys/fs/inotify/" + hosts);
    const UniqueFd file(
        ::openat(root.fd(), ("proc/sys/user/" + own).c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    if (all > 0 && file) {
        const auto share = std::to_string(std::max(all / sessions_for_all, 1L));
        // Where it may not be written, the host's own limit is what is left, and holds for all.
        (void)!::write(file.get(), share.data(), share.size());
    }
}

} // namespace

void limit_kernel_shares(const Root& root)
{
    // Else one command takes all of them, from every other session of this user and from the
    // user's own programs.
    limit_to_share(root, "max_user_instances", "max_inotify_instances");
    limit_to_share(root, "max_user_watches", "max_inotify_watches");
    limit_pending_signals();
    limit_locked_memory();
}

} // namespace berth::local
