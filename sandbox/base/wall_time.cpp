#include "sandbox/base/wall_time.hpp"

#include <ctime>

namespace berth {
namespace {

constexpr const char* form = "%Y-%m-%dT%H:%M:%SZ";
constexpr const char* http_form = "%a, %d %b %Y %H:%M:%S GMT";

/// Nothing for what is not of that form, to the end.
std::optional<std::chrono::system_clock::time_point> time_in(std::string_view text,
                                                             const char* written)
{
    const std::string copy(text);
    std::tm parts{};
    const char* end = ::strptime(copy.c_str(), written, &parts);
    if (end == nullptr || *end != '\0') {
        return std::nullopt;
    }
    // The clock counts nanoseconds: what is further away than three centuries is out of its reach.
    constexpr auto farthest =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::duration::max())
            .count();
    const std::time_t seconds = ::timegm(&parts);
    if (seconds > farthest || seconds < -farthest) {
        return std::nullopt;
    }
    return std::chrono::system_clock::from_time_t(seconds);
}

} // namespace

std::string rfc3339(std::chrono::system_clock::time_point time)
{
    const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    char text[64];
    return {text, std::strftime(text, sizeof(text), form, &parts)};
}

std::optional<std::chrono::system_clock::time_point> parse_rfc3339(std::string_view text)
{
    const auto time = time_in(text, form);
    // strptime takes blanks and short fields too; whoever wrote this text did not.
    return time && rfc3339(*time) == text ? time : std::nullopt;
}

std::optional<std::chrono::system_clock::time_point> parse_http_date(std::string_view text)
{
    return time_in(text, http_form);
}

} // namespace berth
