#include "sandbox/guest/microvm/answer_watch.hpp"
#include "sandbox/protocol/wire.hpp"

#include <doctest/doctest.h>

#include <string>

using berth::guest::AnswerWatch;
using berth::protocol::FrameType;

namespace {

std::string frame(FrameType type, const std::string& payload)
{
    std::string bytes;
    berth::protocol::put_frame(bytes, type, payload);
    return bytes;
}

} // namespace

TEST_CASE("the answer of a call ends with its reply, in whatever pieces it comes")
{
    const std::string answer = frame(FrameType::hello_reply, "hello") +
                               frame(FrameType::event, "") + frame(FrameType::data, "data") +
                               frame(FrameType::reply, "the reply");
    for (std::size_t piece = 1; piece <= answer.size(); ++piece) {
        CAPTURE(piece);
        AnswerWatch watch;
        for (std::size_t at = 0; at < answer.size(); at += piece) {
            REQUIRE_FALSE(watch.complete());
            const auto part = std::string_view(answer).substr(at, piece);
            REQUIRE(watch.pass(part) == part.size());
        }
        CHECK(watch.complete());
    }
}

TEST_CASE("what comes behind the answer is not part of it")
{
    const std::string refused = frame(FrameType::error, "refused");
    AnswerWatch watch;
    CHECK(watch.pass(refused + frame(FrameType::event, "late")) == refused.size());
    CHECK(watch.complete());
    CHECK(watch.pass("more") == 0);
}

TEST_CASE("a reply without a payload is complete with its header")
{
    AnswerWatch watch;
    CHECK(watch.pass(frame(FrameType::reply, "")) == berth::protocol::frame_header_size);
    CHECK(watch.complete());
}

TEST_CASE("what is no frame is told")
{
    AnswerWatch watch;
    CHECK_THROWS_AS((void)watch.pass("HTTP/1.1 400 Bad Request"), berth::protocol::WireError);
}
