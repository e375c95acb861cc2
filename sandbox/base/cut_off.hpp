#pragma once

#include "sandbox/base/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

/// What is known of a call of which only the beginning arrived: the detail `cut_off` of its Error.
struct CutOff {
    std::string_view arrived_as;             ///< message, string, wrapper or nothing
    std::optional<std::uint64_t> bytes = {}; ///< of the text that broke off
    std::string argument = {};               ///< the wrapper's, that holds the text
    bool certain = true;                     ///< false: it may have been sent like that
};

/// `error` with these details.
[[nodiscard]] Error with_cut_off(Error error, const CutOff& cut_off);

/// Whether it has them.
[[nodiscard]] bool tells_cut_off(const Error& error);

} // namespace berth
