#pragma once

#include "sandbox/guest/call_context.hpp"
#include "sandbox/guest/paths.hpp"
#include "sandbox/protocol/messages.hpp"

namespace berth::guest {

/// The entries of an open directory by name (bytewise), `request.limit` of them from
/// `request.offset` on, or from the last `request.from_end` on. Memory is bounded by
/// max_listed_entries, not by the directory.
[[nodiscard]] protocol::ReadFileReply read_directory(Opened directory,
                                                     const protocol::ReadFileRequest& request,
                                                     const CallContext& context);

} // namespace berth::guest
