#include "sandbox/base/host_time.hpp"

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/io.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <fcntl.h>

namespace berth {
namespace {

std::optional<std::chrono::seconds> seconds_in(std::string_view text)
{
    std::int64_t number = 0;
    const auto* const begin = text.data();
    const auto* const end = begin + text.size();
    const auto [read, error] = std::from_chars(begin, end, number);
    return error == std::errc() && read == end ? std::optional(std::chrono::seconds(number))
                                               : std::nullopt;
}

} // namespace

std::string boot_id()
{
    auto id = read_file_limited(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64);
    while (!id.empty() && id.back() == '\n') {
        id.pop_back();
    }
    return id;
}

HostTime HostTime::now()
{
    using std::chrono::duration_cast;
    using std::chrono::seconds;
    return {.boot = boot_id(),
            .up = duration_cast<seconds>(BootClock::now().time_since_epoch()),
            .wall = duration_cast<seconds>(std::chrono::system_clock::now().time_since_epoch())};
}

std::optional<std::chrono::seconds> passed_since(const HostTime& time, const HostTime& now)
{
    return time.boot == now.boot
               ? std::optional(std::max(now.up - time.up, std::chrono::seconds(0)))
               : std::nullopt;
}

std::string to_text(const HostTime& time)
{
    return time.boot + ' ' + std::to_string(time.up.count()) + ' ' +
           std::to_string(time.wall.count());
}

std::optional<HostTime> host_time_from(std::string_view text)
{
    const auto first = text.find(' ');
    const auto second = first == std::string_view::npos ? first : text.find(' ', first + 1);
    if (first == 0 || second == std::string_view::npos) {
        return std::nullopt;
    }
    const auto up = seconds_in(text.substr(first + 1, second - first - 1));
    const auto wall = seconds_in(text.substr(second + 1));
    return up && wall ? std::optional(HostTime{std::string(text.substr(0, first)), *up, *wall})
                      : std::nullopt;
}

} // namespace berth
