#pragma once

#include "sandbox/guest/call_context.hpp"
#include "sandbox/guest/files/content_type.hpp"
#include "sandbox/guest/files/stream.hpp"
#include "sandbox/guest/paths.hpp"
#include "sandbox/protocol/messages.hpp"

#include <string_view>

namespace berth::guest {

/// The lines of a text that `request` asks for, from its beginning or from its end. `reader` has
/// just read the beginning of the file, `piece`. Everything but the path is set.
[[nodiscard]] protocol::ReadFileReply read_text(const Opened& file,
                                                const protocol::ReadFileRequest& request,
                                                TextEncoding encoding, PieceReader& reader,
                                                std::string_view piece, const CallContext& context);

} // namespace berth::guest
