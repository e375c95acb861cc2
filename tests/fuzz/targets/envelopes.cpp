// A stream of envd's, in whatever pieces it comes: LIMIT, a byte, then bytes. Whoever is root in a
// sandbox can write any.

#include "sandbox/base/error.hpp"
#include "sandbox/e2b/envelope.hpp"
#include "sandbox/e2b/process_messages.hpp"
#include "sandbox/e2b/status_error.hpp"
#include "tests/fuzz/pieces.hpp"

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
    berth::fuzz::same_in_pieces<EnvelopeReader>(input, 64, take);
}
