#include "sandbox/protocol/frame.hpp"
#include "sandbox/protocol/messages.hpp"
#include "sandbox/protocol/wire.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace protocol = berth::protocol;

TEST_CASE("a message survives encoding, also where it differs from its defaults")
{
    protocol::ExecuteRequest request;
    request.id = "00112233445566778899aabbccddeeff";
    request.command = "echo hi";
    request.timeout = 120'000;
    request.environment = {{"A", "1"}, {"B", ""}};
    request.input = "";
    const auto bytes = protocol::encode(request);
    const auto back = protocol::decode<protocol::ExecuteRequest>(bytes);
    CHECK(back.id == request.id);
    CHECK(back.command == request.command);
    CHECK(back.timeout == request.timeout);
    CHECK(back.environment == request.environment);
    REQUIRE(back.input.has_value());
    CHECK(back.input->empty());
    CHECK(back.sticky_cwd);
    request.sticky_cwd = false;
    CHECK_FALSE(protocol::decode<protocol::ExecuteRequest>(protocol::encode(request)).sticky_cwd);
    CHECK(protocol::encode(protocol::Empty{}).empty());
}

TEST_CASE("negative numbers, nested messages and repeated ones survive")
{
    protocol::ExecuteReply reply;
    reply.exit_code = -1;
    reply.out.head = std::string("a\0b", 3);
    reply.left_running = {{7, "sleep"}, {-1, ""}};
    const auto back = protocol::decode<protocol::ExecuteReply>(protocol::encode(reply));
    CHECK(back.exit_code == -1);
    CHECK(back.out.head.size() == 3);
    REQUIRE(back.left_running.size() == 2);
    CHECK(back.left_running[1].pid == -1);
}

TEST_CASE("hostile bytes are refused, never overrun")
{
    CHECK_THROWS_AS((void)protocol::decode<protocol::Edit>("\x0a\xff"), protocol::WireError);
    CHECK_THROWS_AS((void)protocol::decode<protocol::Edit>("\x0a\x05"
                                                           "ab"),
                    protocol::WireError);
    CHECK_THROWS_AS((void)protocol::decode<protocol::Edit>("\x08\x01"), protocol::WireError);
    const auto unknown = std::string("\xfa\x3f\x02hi", 5);
    CHECK(protocol::decode<protocol::Edit>(unknown).old_text.empty());
}

TEST_CASE("a message cannot blow up to many times its size")
{
    std::string bytes;
    for (std::size_t i = 0; i <= protocol::max_message_elements; ++i) {
        bytes += std::string("\x12\x00", 2);
    }
    CHECK_THROWS_AS((void)protocol::decode<protocol::GlobReply>(bytes), protocol::WireError);
    bytes.resize(bytes.size() - 2);
    CHECK(protocol::decode<protocol::GlobReply>(bytes).paths.size() ==
          protocol::max_message_elements);
}

TEST_CASE("frames are cut from a stream at any boundary")
{
    std::string stream;
    protocol::put_frame(stream, protocol::FrameType::request, "abc", 3);
    protocol::put_frame(stream, protocol::FrameType::cancel, "");
    protocol::FrameReader reader(protocol::max_hello_size);
    int frames = 0;
    for (const char byte : stream) {
        reader.feed({&byte, 1});
        while (const auto frame = reader.next()) {
            ++frames;
            if (frames == 1) {
                CHECK(frame->payload == "abc");
                CHECK(frame->operation == 3);
            }
        }
    }
    CHECK(frames == 2);
    CHECK(reader.empty());
}

TEST_CASE("a large frame is announced at its header, and cut like any other")
{
    const std::string payload(protocol::max_data_size + 1000, 'p');
    std::string stream;
    protocol::put_frame(stream, protocol::FrameType::request, "small", 3);
    protocol::put_frame(stream, protocol::FrameType::request, payload, 4);
    protocol::put_frame(stream, protocol::FrameType::cancel, "");
    for (const std::size_t step : {1UL, 7UL, 4096UL, 1UL << 20U}) {
        protocol::FrameReader reader(protocol::max_payload_size);
        std::vector<std::string> payloads;
        bool announced = false;
        for (std::size_t at = 0; at < stream.size(); at += step) {
            reader.feed(std::string_view(stream).substr(at, step));
            while (auto frame = reader.next()) {
                payloads.push_back(std::move(frame->payload));
                CHECK_FALSE(reader.announced().has_value());
            }
            if (const auto large = reader.announced()) {
                announced = true;
                CHECK(large->operation == 4);
                CHECK(large->size == payload.size());
                CHECK_FALSE(reader.empty());
            }
        }
        CHECK(payloads == std::vector<std::string>{"small", payload, ""});
        CHECK(announced == (step < stream.size()));
        CHECK(reader.empty());
    }
}

TEST_CASE("a frame above the limit is refused at its header")
{
    protocol::FrameReader reader(10);
    reader.feed(std::string("\x0b\0\0\0\x03\0\0\0", 8));
    CHECK_THROWS_AS((void)reader.next(), protocol::WireError);
}
