#include "sandbox/guest/microvm/user_database.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/split.hpp"
#include "sandbox/base/visible.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>

#include <fcntl.h>

namespace berth::guest {
namespace {

constexpr std::size_t largest_file = 4UL << 20U;

std::optional<std::uint32_t> number(std::string_view text)
{
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    // The highest one is "no id" to the kernel: setresuid(2) would keep root's for it.
    return whole && value != UINT32_MAX ? std::optional(value) : std::nullopt;
}

} // namespace

std::optional<protocol::UserIds> user_ids(std::string_view name, std::string_view passwd,
                                          std::string_view groups)
{
    std::optional<protocol::UserIds> found;
    for (const auto line : split(passwd, '\n')) {
        const auto fields = split(line, ':'); // name, password, user, group, ...
        if (fields.size() < 4 || fields[0] != name) {
            continue;
        }
        const auto user = number(fields[2]);
        const auto group = number(fields[3]);
        if (!user || !group) {
            return std::nullopt;
        }
        found = protocol::UserIds{.user = *user, .group = *group, .groups = {}};
        break;
    }
    for (const auto line : split(groups, '\n')) {
        const auto fields = split(line, ':'); // name, password, group, members
        const auto group = fields.size() < 4 ? std::nullopt : number(fields[2]);
        if (!found || !group || *group == found->group) {
            continue;
        }
        for (const auto member : split(fields[3], ',')) {
            if (member == name) {
                found->groups.push_back(*group);
                break;
            }
        }
    }
    return found;
}

protocol::UserIds find_user(const std::string& name)
{
    auto found = user_ids(name, read_file_limited(AT_FDCWD, "/etc/passwd", largest_file),
                          read_file_limited(AT_FDCWD, "/etc/group", largest_file));
    if (!found) {
        throw Error(ErrorCode::sandbox_unavailable, "the machine has no user " + visible(name),
                    "Its template needs one: E2B's own have `user`.");
    }
    return *std::move(found);
}

} // namespace berth::guest
