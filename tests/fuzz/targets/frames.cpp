// The frames of a connection, either way, in whatever pieces they come: LIMIT, a byte, then bytes.

#include "sandbox/protocol/frame.hpp"
#include "sandbox/protocol/wire.hpp"
#include "tests/fuzz/pieces.hpp"

#include <string>

namespace {

using berth::protocol::FrameReader;

/// What came out, in the form of the wire; false once it is no stream of frames.
bool take(FrameReader& reader, std::size_t limit, std::string& out)
try {
    while (const auto frame = reader.next()) {
        berth::fuzz::require(frame->payload.size() <= limit, "no frame is above the limit");
        put_frame(out, frame->type, frame->payload, frame->operation, frame->flags);
    }
    (void)reader.announced();
    return true;
} catch (const berth::protocol::WireError&) {
    return false;
}

} // namespace

BERTH_FUZZ_TARGET(frames)
{
    berth::fuzz::same_in_pieces<FrameReader>(input, 4096, take);
}
