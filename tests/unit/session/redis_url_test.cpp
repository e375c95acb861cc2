#include "sandbox/base/error.hpp"
#include "sandbox/session/redis_url.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace berth;
using session::parse_redis_url;
using session::RedisAddress;

namespace {

std::string refusal(const std::string& url)
{
    try {
        (void)parse_redis_url(url);
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        return std::string(error.what()) + '\n' + error.hint();
    }
    return {};
}

} // namespace

TEST_SUITE("session/redis_url")
{
    TEST_CASE("each part is taken, and has its default")
    {
        const RedisAddress plain{.host = "host"};
        CHECK(parse_redis_url("redis://host") == plain);
        CHECK(parse_redis_url("redis://host/") == plain);
        CHECK(parse_redis_url("redis://host:6379/0") == plain);
        const RedisAddress whole{.host = "10.0.0.1",
                                 .port = 1,
                                 .socket = {},
                                 .user = "ann",
                                 .password = "a:b@c/d%",
                                 .database = 7};
        CHECK(parse_redis_url("redis://ann:a:b%40c%2fd%25@10.0.0.1:1/7") == whole);
        CHECK(parse_redis_url("redis://:secret@host").password == "secret");
        CHECK(parse_redis_url("redis://:secret@host").user.empty());
        CHECK(parse_redis_url("redis://ann@host").user == "ann");
        CHECK(parse_redis_url("redis://:a@b@host").password == "a@b");
        CHECK(parse_redis_url("redis://[::1]:7/2").host == "::1");
        CHECK(parse_redis_url("redis://[fe80::1%eth0]").port == 6379);
    }

    TEST_CASE("a unix socket")
    {
        const auto address = parse_redis_url("unix://ann:pass@/run/my%20redis.sock?db=3");
        CHECK(address.host.empty());
        CHECK(address.socket == "/run/my redis.sock");
        CHECK(address.user == "ann");
        CHECK(address.password == "pass");
        CHECK(address.database == 3);
        CHECK(parse_redis_url("unix:///s").socket == "/s");
    }

    TEST_CASE("what is shown has neither user nor password, and can be given again")
    {
        CHECK(parse_redis_url("redis://ann:secret@host:7/2").shown() == "redis://host:7/2");
        CHECK(parse_redis_url("redis://:secret@[::1]").shown() == "redis://[::1]:6379/0");
        CHECK(parse_redis_url("unix://:secret@/run/r.sock?db=1").shown() ==
              "unix:///run/r.sock?db=1");
        CHECK(parse_redis_url("unix:///run/r.sock").shown() == "unix:///run/r.sock");
        CHECK(parse_redis_url("unix:///run/%1b[2J").shown().find('\x1b') == std::string::npos);
    }

    TEST_CASE("what is wrong is refused in words that quote nothing")
    {
        for (const std::string url : {"",
                                      "secret",
                                      "http://secret",
                                      "redis:secret",
                                      "redis://",
                                      "redis:///1",
                                      "redis://:secret@",
                                      "redis://:secret@:1",
                                      "redis://h:0",
                                      "redis://h:65536",
                                      "redis://h:secret",
                                      "redis://h:1x",
                                      "redis://h:-1",
                                      "redis://h/secret",
                                      "redis://h/-1",
                                      "redis://h/1/2",
                                      "redis://h/9999999999",
                                      "redis://h?db=1",
                                      "redis://:sec/ret@h",
                                      "redis://:secret%2@h",
                                      "redis://:secret%zz@h",
                                      "redis://:secret%00@h",
                                      "redis://:secret%+1@h",
                                      "redis://[::1",
                                      "redis://[::1]secret",
                                      "redis://se cret",
                                      "redis://h\n",
                                      "redis://h\xff",
                                      "redis://a,b",
                                      "unix://secret",
                                      "unix://host/path",
                                      "unix:///p?secret",
                                      "unix:///p?db=secret",
                                      "unix:///p?db="}) {
            CAPTURE(url);
            const auto text = refusal(url);
            CHECK_FALSE(text.empty());
            CHECK(text.find("sec") == std::string::npos);
            CHECK(text.find("redis://[USER[:PASSWORD]@]HOST") != std::string::npos);
        }
    }

    TEST_CASE("TLS is refused by name, with what to do instead")
    {
        const auto text = refusal("rediss://:secret@host");
        CHECK(text.find("TLS") != std::string::npos);
        CHECK(text.find("hiredis") != std::string::npos);
        CHECK(text.find("tunnel") != std::string::npos);
        CHECK(text.find("secret") == std::string::npos);
    }
}
