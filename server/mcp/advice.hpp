#pragma once

#include "sandbox/base/error.hpp"
#include "tools/dialect.hpp"

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

// What to do about an error, by its code and the tool that it came from: a job that is not there is
// looked for elsewhere than a file. `tool`: own_name(), or empty where it is not known; `dialect`:
// in whose names the other tools are named, null for berth's own.

namespace berth::mcp {

/// The error's own hint, or else what usually helps; one line.
[[nodiscard]] std::string hint_for(const Error& error, std::string_view tool,
                                   const tools::Dialect* dialect);

/// The last line of an error that comes again and again, `times` in a row: what to do instead of
/// sending the call once more.
[[nodiscard]] std::string stop_repeating(const std::exception& failure, std::string_view tool,
                                         std::uint64_t times, const tools::Dialect* dialect);

} // namespace berth::mcp
