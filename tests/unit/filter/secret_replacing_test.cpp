#include "sandbox/base/base64.hpp"
#include "sandbox/filter/request.hpp"
#include "sandbox/filter/secret_replacing.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>

using namespace berth;
using filter::BadRequest;
using filter::SecretBook;

namespace {

struct OneSecret : SecretBook {
    explicit OneSecret(const std::string& value, const std::string& place = "http://a.example")
        : SecretBook({{.name = "TOKEN", .placeholder = "PLACE", .places = {place}}})
    {
        set("TOKEN", value);
    }
};

struct Put {
    std::string head;
    std::optional<protocol::Denial> denial;
};

Put put(const SecretBook& book, const std::string& request, bool is_tls = false)
{
    auto read = filter::read_request(request);
    auto denial = filter::put_secrets_in(read, book.replacements(read.target, is_tls));
    return {.head = denial ? std::string() : filter::head_of(read), .denial = std::move(denial)};
}

std::string get(const std::string& host, const std::string& fields, const std::string& path = "/")
{
    return "GET http://" + host + path + " HTTP/1.1\r\n" + fields + "\r\n";
}

bool has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a value takes the place of its placeholder in fields, Basic credentials and the address")
{
    const OneSecret book("s3 cr/t", "http://a.example?");
    const auto text =
        put(book,
            get("a.example", "Authorization: Bearer PLACE\r\nX-Two: PLACE,PLACE\r\nPLACE: name\r\n",
                "/bot/PLACE?key=PLACE#PLACE"))
            .head;
    CHECK(text == "GET /bot/s3%20cr%2Ft?key=s3%20cr%2Ft HTTP/1.1\r\nHost: a.example\r\n"
                  "Connection: close\r\nAuthorization: Bearer s3 cr/t\r\n"
                  "X-Two: s3 cr/t,s3 cr/t\r\nPLACE: name\r\n\r\n");
    const auto basic =
        put(book, get("a.example", "Authorization: basic " + base64_encode("me:PLACE") + "\r\n"))
            .head;
    CHECK(has(basic, "Authorization: Basic " + base64_encode("me:s3 cr/t") + "\r\n"));
    for (const std::string other : {"Basic !", "Basic", "Digest UExBQ0U=", "Basic  "}) {
        CHECK(has(put(book, get("a.example", "Authorization: " + other + "\r\n")).head,
                  "Authorization: " + other.substr(0, other.find("  ")) + "\r\n"));
    }
}

TEST_CASE("to any other place a placeholder does not go, and it is told why")
{
    const OneSecret book("s3cret");
    for (const std::string host : {"b.example", "a.example:81", "x.a.example"}) {
        const auto got = put(book, get(host, "Authorization: Bearer PLACE\r\n"));
        REQUIRE(got.denial);
        CHECK(got.denial->kind == "secret");
        CHECK(has(got.denial->reason, "TOKEN"));
        CHECK(has(got.denial->reason, "goes to http://a.example alone"));
        CHECK_FALSE(has(got.denial->reason + got.denial->remedy, "s3cret"));
        CHECK(put(book, get(host, "Authorization: Basic " + base64_encode("PLACE:") + "\r\n"))
                  .denial);
        CHECK(put(book, get(host, "", "/?q=PLACE")).denial);
        CHECK_FALSE(put(book, get(host, "X: other\r\n")).denial);
    }
    CHECK(put(book, get("a.example", "X: PLACE\r\n"), /*is_tls=*/true).denial);
}

TEST_CASE("the address of a request has a value only where its place says so")
{
    const OneSecret book("s3cret");
    for (const std::string path : {"/?key=PLACE", "/botPLACE/me", "/aPLACE?b"}) {
        CAPTURE(path);
        const auto got = put(book, get("a.example", "X: PLACE\r\n", path));
        REQUIRE(got.denial);
        CHECK(got.denial->kind == "secret");
        CHECK(has(got.denial->reason, "in the address of the request, where no value is put"));
        CHECK(has(got.denial->remedy, "filter.secret"));
        CHECK_FALSE(has(got.denial->reason + got.denial->remedy, "s3cret"));
    }
    const OneSecret other("s3cret", "http://b.example?");
    CHECK(put(other, get("a.example", "", "/?key=PLACE")).denial);
    // Either of two entries for one place may allow it.
    SecretBook both({{.name = "TOKEN",
                      .placeholder = "PLACE",
                      .places = {"http://a.example?", "http://a.example", "http://b.example"}}});
    both.set("TOKEN", "s3cret");
    CHECK(has(put(both, get("a.example", "", "/?key=PLACE")).head, "GET /?key=s3cret "));
    CHECK(put(both, get("b.example", "", "/?key=PLACE")).denial);
}

TEST_CASE("a value is with its own place alone, even among the replacements")
{
    const OneSecret book("s3cret");
    const auto other = book.replacements({.name = "b.example", .address = {}, .port = 80}, false);
    CHECK_FALSE(other.at(0).value);
    const auto own = book.replacements({.name = "a.example", .address = {}, .port = 80}, false);
    CHECK(own.at(0).value == "s3cret");
    CHECK(book.is_place({.name = "a.example", .address = {}, .port = 80}, false));
    CHECK_FALSE(book.is_place({.name = "a.example", .address = {}, .port = 80}, true));
}

TEST_CASE("the newest value counts; one that would add a line, or of no known name, is not taken")
{
    OneSecret book("first");
    book.set("TOKEN", "second");
    book.set("TOKEN", "a\r\nHost: b.example");
    book.set("OTHER", "third");
    CHECK(has(put(book, get("a.example", "X: PLACE\r\n")).head, "X: second\r\n"));
    const SecretBook empty(
        {{.name = "TOKEN", .placeholder = "PLACE", .places = {"http://a.example"}}});
    const auto got = put(empty, get("a.example", "X: PLACE\r\n"));
    REQUIRE(got.denial);
    CHECK(has(got.denial->reason, "is not known"));
}

TEST_CASE("what a server sends back as a matter of course gets no value")
{
    const OneSecret book("value");
    for (const std::string field :
         {"Origin", "user-agent", "X-Request-Id", "Access-Control-Request-Headers", "Referer"}) {
        CAPTURE(field);
        const auto got = put(book, get("a.example", field + ": x PLACE\r\n"));
        REQUIRE(got.denial);
        CHECK(got.denial->kind == "secret");
        CHECK(has(got.denial->reason, field));
    }
    for (const std::string method : {"TRACE", "TRACK"}) {
        CAPTURE(method);
        const auto request =
            method + " http://a.example/ HTTP/1.1\r\nAuthorization: Bearer PLACE\r\n\r\n";
        CHECK_THROWS_AS((void)put(book, request), BadRequest);
    }
    CHECK_FALSE(put(book, "TRACE http://a.example/ HTTP/1.1\r\nX: y\r\n\r\n").denial);
}

TEST_CASE("a head does not grow without end")
{
    const OneSecret book(std::string(8000, 'x'));
    std::string fields;
    for (int i = 0; i < 100; ++i) {
        fields += "X: PLACE\r\n";
    }
    try {
        (void)put(book, get("a.example", fields));
        FAIL("it was written");
    } catch (const BadRequest& bad) {
        CHECK(bad.status == 431);
    }
}
