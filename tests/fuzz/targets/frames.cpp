// The frames of a connection, either way, in whatever pieces they come: LIMIT, a byte, then bytes.

#include "sandbox/protocol/frame.hpp"
#include "sandbox/protocol/wire.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

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
    using berth::fuzz::require;
    if (input.empty()) {
        return;
    }
    const std::size_t limit = static_cast<std::size_t>(berth::fuzz::byte_at(input, 0)) * 4096;
    const auto bytes = input.substr(1);
    FrameReader whole(limit);
    whole.feed(bytes);
    std::string at_once;
    const bool valid = take(whole, limit, at_once);
    FrameReader cut(limit);
    std::string by_pieces;
    bool still_valid = true;
    berth::fuzz::each_piece(bytes, [&](std::string_view piece) {
        if (still_valid) {
            cut.feed(piece);
            still_valid = take(cut, limit, by_pieces);
        }
    });
    require(valid == still_valid && at_once == by_pieces, "pieces make no difference");
    require(!valid || bytes.starts_with(at_once), "frames are what was sent");
    require(!valid || whole.empty() == (at_once.size() == bytes.size()),
            "what is left is waited for");
}
