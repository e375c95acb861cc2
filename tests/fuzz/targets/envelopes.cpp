// A stream of envd's, in whatever pieces it comes: LIMIT, a byte, then bytes. Whoever is root in a
// sandbox can write any.

#include "sandbox/base/error.hpp"
#include "sandbox/e2b/envelope.hpp"
#include "sandbox/e2b/process_messages.hpp"
#include "sandbox/e2b/status_error.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

#include <string>
#include <variant>

namespace {

using berth::e2b::Envelope;
using berth::e2b::EnvelopeReader;

/// What a client makes of one; it may refuse it, and must not do anything else.
void understand(const Envelope& message)
try {
    if (message.last) {
        (void)berth::e2b::stream_error({.what = "fuzz", .where = "here"}, message.payload);
        return;
    }
    (void)berth::e2b::parse_processes(message.payload);
    const auto event = berth::e2b::parse_event(message.payload);
    if (const auto* output = std::get_if<berth::e2b::ProcessOutput>(&event)) {
        berth::fuzz::require(output->bytes.size() <= message.payload.size(),
                             "nothing comes out that did not go in");
    }
} catch (const berth::Error& refused) {
    berth::fuzz::require(refused.what()[0] != '\0', "a refusal says why");
}

/// What came out, as it is written; false once it is no stream.
bool take(EnvelopeReader& reader, std::size_t limit, std::string& out)
try {
    while (const auto message = reader.next()) {
        berth::fuzz::require(message->payload.size() <= limit, "no payload is above the limit");
        understand(*message);
        std::string written;
        berth::e2b::put_envelope(written, message->payload);
        written.front() = message->last ? '\x02' : '\0';
        out += written;
    }
    return true;
} catch (const berth::e2b::EnvelopeError&) {
    return false;
}

} // namespace

BERTH_FUZZ_TARGET(envelopes)
{
    using berth::fuzz::require;
    if (input.empty()) {
        return;
    }
    const std::size_t limit = static_cast<std::size_t>(berth::fuzz::byte_at(input, 0)) * 64;
    const auto bytes = input.substr(1);
    EnvelopeReader whole(limit);
    whole.feed(bytes);
    std::string at_once;
    const bool valid = take(whole, limit, at_once);
    EnvelopeReader cut(limit);
    std::string by_pieces;
    bool still_valid = true;
    berth::fuzz::each_piece(bytes, [&](std::string_view piece) {
        if (still_valid) {
            cut.feed(piece);
            still_valid = take(cut, limit, by_pieces);
        }
    });
    require(valid == still_valid && at_once == by_pieces, "pieces make no difference");
    require(bytes.starts_with(at_once), "envelopes are what was sent");
    require(!valid || whole.empty() == (at_once.size() == bytes.size()),
            "what is left is waited for");
}
