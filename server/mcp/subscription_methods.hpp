#pragma once

#include "server/mcp/reply.hpp"
#include "server/mcp/request_context.hpp"

#include <string>

namespace berth::mcp {

/// Answers subscriptions/listen of a server that tells of no changes, and says so by its
/// capabilities: the client is told first which of what it wants to hear of it will hear of, which
/// is nothing, and the result, which ends a subscription, follows at once. Every client may ask:
/// an error would say that the revision is not spoken whole. Throws ProtocolError.
[[nodiscard]] std::string listen_in_vain(const RequestContext& context, const Identity& identity);

} // namespace berth::mcp
