#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::guest::search {

struct RequiredLiterals {
    std::vector<std::string> any_of; ///< every match has at least one of them in it
    bool whole = false;              ///< and is one of them: nothing but text and '|'
};

/// Byte strings that a match of `pattern` (RE2 syntax, matched with regard to case) cannot do
/// without; empty when there are none or the pattern is too clever to say. Errs on that side only.
[[nodiscard]] std::optional<RequiredLiterals> required_literals(std::string_view pattern);

} // namespace berth::guest::search
