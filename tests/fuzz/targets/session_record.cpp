// The record of a session, as it is read back from the disk.

#include "sandbox/session/record_codec.hpp"
#include "tests/fuzz/target.hpp"

#include <exception>
#include <optional>

BERTH_FUZZ_TARGET(session_record)
{
    std::optional<berth::session::Record> record;
    try {
        record = berth::session::decode_record(input);
    } catch (const std::exception&) {
        return; // its caller tells it as a damaged record
    }
    const auto text = berth::session::encode(*record);
    berth::fuzz::require(encode(berth::session::decode_record(text)) == text,
                         "a record stays what it is");
}
