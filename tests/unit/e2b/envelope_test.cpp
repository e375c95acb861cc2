#include "sandbox/e2b/envelope.hpp"
#include "tests/unit/e2b/golden.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using berth::e2b::EnvelopeError;
using berth::e2b::EnvelopeReader;
using berth::e2b::put_envelope;
namespace golden = berth::tests::golden;
using namespace std::string_view_literals;

namespace {

std::vector<std::string> read_in_pieces(std::string_view stream, std::size_t size)
{
    EnvelopeReader reader;
    std::vector<std::string> payloads;
    while (!stream.empty()) {
        reader.feed(stream.substr(0, size));
        stream.remove_prefix(std::min(size, stream.size()));
        while (const auto message = reader.next()) {
            payloads.push_back((message->last ? "last " : "") + message->payload);
        }
    }
    CHECK(reader.empty());
    CHECK(reader.ended());
    return payloads;
}

std::string error_in(std::string_view stream, std::size_t limit = 100)
{
    EnvelopeReader reader(limit);
    reader.feed(stream);
    try {
        while (reader.next()) {
        }
    } catch (const EnvelopeError& error) {
        return error.what();
    }
    return "none";
}

} // namespace

TEST_CASE("a captured stream is the same in whatever pieces it comes")
{
    const auto whole = read_in_pieces(golden::start_answer, golden::start_answer.size());
    REQUIRE(whole.size() == 4);
    CHECK(whole[0] == R"({"event":{"start":{"pid":16274}}})");
    CHECK(whole[3] == "last {}");
    for (std::size_t size = 1; size < golden::start_answer.size(); ++size) {
        CAPTURE(size);
        CHECK(read_in_pieces(golden::start_answer, size) == whole);
    }
}

TEST_CASE("an envelope is written as the official client writes it")
{
    std::string written;
    put_envelope(written, golden::start_request.substr(5));
    CHECK(written == golden::start_request);
    put_envelope(written, std::string(0x010203, 'x'));
    CHECK(written.substr(golden::start_request.size(), 5) == "\x00\x00\x01\x02\x03"sv);
}

TEST_CASE("an envelope may be empty")
{
    EnvelopeReader reader;
    reader.feed("\x00\x00\x00\x00\x00"sv);
    const auto message = reader.next();
    REQUIRE(message);
    CHECK(message->payload.empty());
    CHECK_FALSE(message->last);
    CHECK_FALSE(reader.ended());
}

TEST_CASE("a part of an envelope is waited for")
{
    EnvelopeReader reader;
    for (std::size_t size = 1; size < golden::quiet.size(); ++size) {
        reader.feed(golden::quiet.substr(size - 1, 1));
        CHECK_FALSE(reader.next());
        CHECK_FALSE(reader.empty());
    }
    reader.feed(golden::quiet.substr(golden::quiet.size() - 1));
    CHECK(reader.next());
    CHECK(reader.empty());
}

TEST_CASE("a payload above the limit is refused before it comes")
{
    CHECK(error_in(std::string("\x00\x00\x00\x00\x64"sv) + std::string(100, 'x')) == "none");
    CHECK(error_in("\x00\x00\x00\x00\x65"sv).find("limit") != std::string::npos);
    CHECK(error_in("\x02\xff\xff\xff\xff"sv).find("limit") != std::string::npos);
}

TEST_CASE("flags that were not asked for are refused at their first byte")
{
    for (const auto stream : {"\x01"sv, "\x03"sv, "\x04"sv, "\x80"sv, "\xff"sv, "HTTP/1.1"sv}) {
        CHECK(error_in(stream).find("flags") != std::string::npos);
    }
}

TEST_CASE("nothing may follow the end of a stream")
{
    CHECK(error_in("\x02\x00\x00\x00\x02{}"sv) == "none");
    CHECK(error_in("\x02\x00\x00\x00\x02{}\x00"sv).find("follows") != std::string::npos);
}
