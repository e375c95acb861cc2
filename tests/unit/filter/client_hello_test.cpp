#include "sandbox/filter/client_hello.hpp"
#include "sandbox/filter/proxy/relay.hpp"
#include "tests/unit/filter/hello.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace berth::tests;
using berth::filter::judge_tunnel;
using berth::filter::read_client_hello;
using berth::filter::target_of;
using State = berth::filter::ClientHello::State;

TEST_CASE("the name in a ClientHello, however it comes")
{
    const auto message = hello_message(extension(43, "\x02\x03\x04") + server_name("Example.com") +
                                       extension(16, counted_bytes("\x02h2", 2)));
    SUBCASE("in one record, with what comes behind it")
    {
        const auto hello = read_client_hello(record(message) + "more");
        CHECK(hello.state == State::read);
        CHECK(hello.server_name == "Example.com");
        CHECK_FALSE(hello.encrypted);
    }
    SUBCASE("in many records")
    {
        std::string bytes;
        for (const char c : message) {
            bytes += record(std::string(1, c));
        }
        CHECK(read_client_hello(bytes).server_name == "Example.com");
    }
    SUBCASE("as long as it is not whole nothing is known")
    {
        const auto bytes = record(message);
        for (std::size_t size = 0; size < bytes.size(); ++size) {
            CAPTURE(size);
            CHECK(read_client_hello(bytes.substr(0, size)).state == State::incomplete);
        }
    }
}

TEST_CASE("what is no ClientHello")
{
    CHECK(read_client_hello("GET / HTTP/1.1\r\n").state == State::no_tls);
    CHECK(read_client_hello("SSH-2.0-x").state == State::no_tls);
    CHECK(read_client_hello("\x15\x22").state == State::no_tls);
    CHECK(read_client_hello("\x15\x02").state == State::incomplete);
    // Lengths in front of messages of other protocols.
    CHECK(read_client_hello(bytes_of({0x16, 1, 0, 1, 0x85, 0xa6, 0x0f})).state == State::no_tls);
    CHECK(read_client_hello(bytes_of({0x17, 1, 0, 0, 7, 0, 0, 0})).state == State::no_tls);
    CHECK(read_client_hello(bytes_of({0x14, 0, 0, 0, 0})).state == State::no_tls);
    CHECK(read_client_hello(record("\x02server hello")).state == State::broken);
    CHECK(read_client_hello(record("")).state == State::broken);
    CHECK(read_client_hello(record("\x01") + "\x17\x03\x03").state == State::broken);
    CHECK(read_client_hello(record("\x01\xff\xff\xff")).state == State::broken);
    CHECK(read_client_hello(record("\x01") + record("")).state == State::broken);
    const auto name = server_name("a.example");
    CHECK(read_client_hello(client_hello(name + name)).state == State::broken);
    CHECK(read_client_hello(client_hello(name.substr(0, name.size() - 1))).state == State::broken);
    CHECK(read_client_hello(client_hello(extension(0, ""))).state == State::broken);
}

TEST_CASE("a tunnel goes where its ClientHello says, and says it openly")
{
    const auto target = target_of("example.com", 443).value();
    const auto kind = [&](const std::string& bytes, const berth::filter::Target& of) {
        const auto verdict = judge_tunnel(of, bytes);
        return verdict.undecided ? std::string("undecided")
               : verdict.denial  ? verdict.denial->reason
                                 : std::string("goes");
    };
    const auto is = [&](const std::string& bytes) { return kind(bytes, target); };
    CHECK(is(client_hello(server_name("example.com"))) == "goes");
    CHECK(is(client_hello(server_name("EXAMPLE.com"))) == "goes");
    CHECK(is(client_hello(server_name("other.example"))).find("another name") != std::string::npos);
    CHECK(is(client_hello(server_name("example.com.evil.example"))).find("another name") !=
          std::string::npos);
    CHECK(is(client_hello("")).find("does not say") != std::string::npos);
    for (const unsigned encrypted : {0xfe0dU, 0xffceU}) {
        CHECK(is(client_hello(server_name("example.com") + extension(encrypted, "x")))
                  .find("encrypted") != std::string::npos);
    }
    CHECK(is("GET / HTTP/1.1\r\nHost: other.example\r\n\r\n").find("TLS alone") !=
          std::string::npos);
    CHECK(is("\x16") == "undecided");
    CHECK(is(record("\x01" + in_bytes(16000, 3)) + record(std::string(16380, 'x'))) != "undecided");

    const auto ssh = target_of("example.com", 22).value();
    CHECK(kind("SSH-2.0-x\r\n", ssh) == "goes");
    CHECK(kind(client_hello(server_name("other.example")), ssh) != "goes");

    // What servers take that look less closely, on ports over which anything may go.
    auto other_version = client_hello(server_name("other.example"));
    other_version[1] = 4;
    CHECK(kind(other_version, ssh).find("another name") != std::string::npos);
    const auto message = hello_message(server_name("other.example"));
    auto second_record = record(message.substr(3));
    second_record[1] = 4;
    CHECK(kind(record(message.substr(0, 3)) + second_record, ssh).find("another name") !=
          std::string::npos);
    for (const char version : {'\x03', '\x04'}) {
        const auto alert = std::string("\x15") + version + bytes_of({1, 0, 2, 1, 90});
        CHECK(kind(alert + client_hello(server_name("other.example")), ssh).find("be read") !=
              std::string::npos);
    }
    CHECK(kind(client_hello(server_name(std::string(8000, 'x') + '\n')), ssh).size() < 400);

    const auto address = target_of("93.184.216.34", 443).value();
    CHECK(kind(client_hello(""), address) == "goes");
    CHECK(kind(client_hello(server_name("example.com")), address) != "goes");
}
