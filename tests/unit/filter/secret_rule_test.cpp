#include "sandbox/base/error.hpp"
#include "sandbox/filter/secret_rule.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace berth;

TEST_CASE("where a secret may go")
{
    const auto rule = filter::parse_secret_rule("TOKEN=https://API.Example.com");
    CHECK(rule.name == "TOKEN");
    CHECK(rule.place.is_tls);
    CHECK(rule.place.to_text() == "https://api.example.com");
    CHECK(rule.place.is({.name = "api.example.com", .address = {}, .port = 443}, true));
    CHECK_FALSE(rule.place.is({.name = "api.example.com", .address = {}, .port = 443}, false));
    CHECK_FALSE(rule.place.is({.name = "api.example.com", .address = {}, .port = 444}, true));
    CHECK_FALSE(rule.place.is({.name = "b.api.example.com", .address = {}, .port = 443}, true));
    for (const std::string text :
         {"http://a.example", "http://a.example:8080", "http://10.1.2.3:81",
          "https://[2001:db8::1]:8443", "https://[2001:db8::1]"}) {
        CHECK(filter::parse_secret_place(text).to_text() == text);
    }
    CHECK(filter::parse_secret_place("HTTP://a.example:80").to_text() == "http://a.example");
}

TEST_CASE("a place takes the value in its address only where it says so")
{
    CHECK_FALSE(filter::parse_secret_place("https://a.example").takes_address);
    const auto place = filter::parse_secret_place("https://a.example:444?");
    CHECK(place.takes_address);
    CHECK(place.is({.name = "a.example", .address = {}, .port = 444}, true));
    CHECK(place.to_text() == "https://a.example:444?");
    CHECK(place.site() == "https://a.example:444");
}

TEST_CASE("a place that is none, or wider than one host, is refused")
{
    for (const std::string text : {"",
                                   "TOKEN",
                                   "=http://a.example",
                                   "T=a.example",
                                   "T=ftp://a.example",
                                   "T=http://",
                                   "T=http://*",
                                   "T=http://*.example.com",
                                   "T=http://a.example/",
                                   "T=http://a.example/x",
                                   "T=http://u@a.example",
                                   "T=http://a.example?q",
                                   "T=http://a.example??",
                                   "T=http://?",
                                   "T=hunter2",
                                   "hunter2",
                                   "hunter2=",
                                   "T=https://u:hunter2@a.example",
                                   "hunter2=x://a",
                                   "T=http://a.example:",
                                   "T=http://a.example:0",
                                   "T=http://a.example:80:80",
                                   "T=http://127.1",
                                   "T=http://a.example."}) {
        CAPTURE(text);
        try {
            (void)filter::parse_secret_rule(text);
            FAIL("it was taken");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            CHECK_FALSE(error.hint().empty());
            // It may be the secret itself, by mistake.
            CHECK(std::string(error.what()).find("hunter2") == std::string::npos);
        }
    }
}

TEST_CASE("a value that could add a line to a request is none")
{
    CHECK(filter::unfit_for_request("ghp_x y\xC3\xA4").empty());
    for (const std::string& value :
         {std::string(), std::string("a\nb"), std::string("a\rb"), std::string("a\tb"),
          std::string("a\0b", 3), std::string("\x7F"), std::string(8193, 'x')}) {
        CHECK_FALSE(filter::unfit_for_request(value).empty());
    }
}
