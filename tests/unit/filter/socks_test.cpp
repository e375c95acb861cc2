#include "sandbox/filter/name_question.hpp"
#include "sandbox/filter/socks.hpp"
#include "tests/unit/filter/hello.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace berth::filter;
using berth::tests::counted_bytes;
using berth::tests::in_bytes;

TEST_CASE("a greeting of SOCKS that goes without authentication")
{
    CHECK_FALSE(socks::size_of_greeting("\x05"));
    CHECK(socks::size_of_greeting("\x05\x02") == 4);
    CHECK(socks::choose(std::string("\x05\x02\x02\x00", 4)).takes);
    const auto refused = socks::choose(std::string("\x05\x01\x02", 3));
    CHECK_FALSE(refused.takes);
    CHECK(refused.answer == "\x05\xff");
}

TEST_CASE("what a request of SOCKS wants")
{
    const std::string head("\x05\x01\x00", 3);
    const auto name = head + "\x03" + counted_bytes("Example.com", 1) + in_bytes(443, 2);
    for (std::size_t size = 0; size < 5; ++size) {
        CHECK_FALSE(socks::size_of_request(name.substr(0, size)));
    }
    CHECK(socks::size_of_request(name.substr(0, 5)) == name.size());
    CHECK(socks::read_request(name).target->to_text() == "example.com:443");
    const auto v4 = head + "\x01" + std::string("\x7f\x00\x00\x01", 4) + in_bytes(80, 2);
    CHECK(socks::size_of_request(v4) == v4.size());
    CHECK(socks::read_request(v4).target->to_text() == "127.0.0.1:80");
    const auto v6 = head + "\x04" + std::string(15, '\0') + "\x01" + in_bytes(80, 2);
    CHECK(socks::size_of_request(v6) == v6.size());
    CHECK(socks::read_request(v6).target->to_text() == "[::1]:80");

    const auto refusal = [](const std::string& bytes) {
        const auto wanted = socks::read_request(bytes);
        CHECK_FALSE(wanted.target);
        CHECK_FALSE(wanted.reason.empty());
        return wanted.refusal;
    };
    using socks::Reply;
    CHECK(refusal("\x04" + name.substr(1)) == Reply::failed);
    CHECK(refusal("\x05\x02" + name.substr(2)) == Reply::no_such_command);
    CHECK(refusal("\x05\x03" + name.substr(2)) == Reply::no_such_command);
    CHECK(refusal(head + "\x05xxxxxxx") == Reply::no_such_address);
    CHECK(refusal(name.substr(0, name.size() - 2) + in_bytes(0, 2)) == Reply::failed);
    CHECK(refusal(name + "x") == Reply::failed);
    // An address written as a name is what it is elsewhere: one of the usual form, or none.
    CHECK(socks::read_request(head + "\x03" + counted_bytes("127.0.0.1", 1) + in_bytes(80, 2))
              .target->address);
    CHECK(refusal(head + "\x03" + counted_bytes("127.1", 1) + in_bytes(80, 2)) ==
          Reply::no_such_address);
}

TEST_CASE("a question for a name is refused as it was asked")
{
    const std::string name = std::string("\x04pypi\x03org", 9) + std::string(1, '\0');
    const std::string question = name + std::string("\x00\x1c\x00\x01", 4);
    const std::string packet = std::string("\xab\xcd\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01", 12) +
                               question + "an EDNS record";
    const auto read = read_name_question(packet);
    REQUIRE(read);
    CHECK(read->name == "pypi.org");
    CHECK(read->refusal ==
          std::string("\xab\xcd\x81\x05\x00\x01\x00\x00\x00\x00\x00\x00", 12) + question);
    for (std::size_t size = 0; size < 12 + question.size(); ++size) {
        CAPTURE(size);
        CHECK_FALSE(read_name_question(packet.substr(0, size)));
    }
    auto answer = packet;
    answer[2] = '\x81'; // two stubs that answer each other would never end
    CHECK_FALSE(read_name_question(answer));
    auto pointer = packet;
    pointer[12] = '\xc0';
    CHECK_FALSE(read_name_question(pointer));
    auto two = packet;
    two[5] = '\x02';
    CHECK_FALSE(read_name_question(two));
}
