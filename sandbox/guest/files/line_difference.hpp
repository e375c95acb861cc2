#pragma once

#include <string>
#include <string_view>

namespace berth::guest {

/// What differs between two lines (without their newlines), a line of old_text and one of the file:
/// each kind of difference that there is, as "capital letters and the number of blanks"; "the text"
/// where they differ in more than such.
[[nodiscard]] std::string describe_difference(std::string_view wanted, std::string_view actual);

/// Without the carriage returns at its end.
[[nodiscard]] std::string_view without_returns(std::string_view line);

} // namespace berth::guest
