#include "tools/full_screen.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace berth::tools {
namespace {

constexpr std::string_view introducer = "\x1b[";

/// DEC's alternate screen, by each of the names that terminals have for it.
constexpr std::array<std::string_view, 3> screens{"?1049h", "?1047h", "?47h"};

/// `24;1H`: the cursor to a row and a column.
bool addresses_cursor(std::string_view sequence) noexcept
{
    const auto end = sequence.find_first_not_of("0123456789;");
    return end != std::string_view::npos && (sequence[end] == 'H' || sequence[end] == 'f') &&
           sequence.substr(0, end).find(';') != std::string_view::npos;
}

} // namespace

bool draws_screen(std::string_view printed) noexcept
{
    for (auto at = printed.find(introducer); at != std::string_view::npos;
         at = printed.find(introducer)) {
        printed.remove_prefix(at + introducer.size());
        if (addresses_cursor(printed.substr(0, 16)) ||
            std::any_of(screens.begin(), screens.end(),
                        [&](std::string_view screen) { return printed.starts_with(screen); })) {
            return true;
        }
    }
    return false;
}

} // namespace berth::tools
