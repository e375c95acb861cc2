#pragma once

#include "sandbox/protocol/messages.hpp"

#include <string>

namespace berth::session {

/// What a machine is in use by, as its guest says: commands in flight, connections of servers, and
/// jobs, the first few by their ids with how long they may still run. One line, also where it is
/// nothing that the guest tells of.
[[nodiscard]] std::string occupation(const protocol::InfoReply& info);

} // namespace berth::session
