#pragma once

#include "sandbox/session/registry.hpp"

#include <string>
#include <string_view>

namespace berth::session {

/// The record as JSON text; token and last_used are kept elsewhere. Bytes of a name that are not
/// UTF-8 are replaced: names in a record are for people, the key is what counts.
[[nodiscard]] std::string encode(const Record& record);

/// Throws std::runtime_error that says what is wrong. Unknown members are ignored; a record of a
/// later version is refused, because its meaning is not known.
[[nodiscard]] Record decode_record(std::string_view text);

} // namespace berth::session
