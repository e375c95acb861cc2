#pragma once

#include "sandbox/protocol/messages.hpp"

#include <string>

namespace berth::session {

/// The end of what a command printed to one stream, as far as it is there, line by line and each
/// ended; nothing in it can pose as more than text.
[[nodiscard]] std::string printed_end(const protocol::StreamOutput& stream);

} // namespace berth::session
