#pragma once

#include <string>
#include <string_view>

namespace berth::guest::search {

/// A pattern whose alternatives say themselves where they begin, with what they share in front of
/// the braces: "{/a/b/*.c,/a/d}" is "/a/{b/*.c,d}", and so for "~/" and "../". Any other pattern as
/// it is. A search begins in one place, so alternatives of which only some say where they begin, or
/// each in its own way, are Error(invalid_argument), as is a pattern whose braces are wrong.
[[nodiscard]] std::string with_common_start(std::string_view pattern);

} // namespace berth::guest::search
