#include "sandbox/filter/body.hpp"
#include "sandbox/filter/request.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

using berth::filter::BadRequest;
using berth::filter::Body;

namespace {

constexpr std::string_view chunks =
    "5\r\nhello\r\n00A;name=\"a;b\" ; c\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n";

/// How many bytes of it are of the body, in pieces of that size.
std::size_t taken(Body& body, std::string_view bytes, std::size_t piece)
{
    std::size_t sum = 0;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        sum += body.take(bytes.substr(at, piece));
    }
    return sum;
}

bool is_refused(const std::string& bytes)
{
    Body body(std::nullopt);
    try {
        (void)body.take(bytes);
        return false;
    } catch (const BadRequest& bad) {
        CHECK(bad.status == 400);
        CHECK(bad.reason.find("cannot be read") != std::string::npos);
        return true;
    }
}

} // namespace

TEST_CASE("a body ends where its length says")
{
    Body none(0);
    CHECK(none.is_done());
    CHECK(none.take("GET") == 0);
    Body body(5);
    CHECK(body.take("hel") == 3);
    CHECK_FALSE(body.is_done());
    CHECK(body.take("loGET") == 2);
    CHECK(body.is_done());
}

TEST_CASE("a body in chunks ends behind the last one, in whatever pieces it comes")
{
    const std::string more = std::string(chunks) + "GET / HTTP/1.1\r\n\r\n";
    for (std::size_t piece = 1; piece <= more.size(); ++piece) {
        CAPTURE(piece);
        Body body(std::nullopt);
        CHECK_FALSE(body.is_done());
        CHECK(taken(body, more, piece) == chunks.size());
        CHECK(body.is_done());
        for (std::size_t size = 0; size < chunks.size(); ++size) {
            Body part(std::nullopt);
            CHECK(taken(part, chunks.substr(0, size), piece) == size);
            CHECK_FALSE(part.is_done());
        }
    }
}

TEST_CASE("chunks that two readers could understand differently are refused")
{
    for (const std::string bytes : {"\r\n",
                                    "x\r\n",
                                    "-1\r\n",
                                    "+1\r\n",
                                    "0x1\r\n",
                                    " 1\r\n",
                                    "1 \r\n",
                                    "1\n",
                                    "1\r\nab\r\n",
                                    "1\r\na\n",
                                    "1\r\na0\r\n",
                                    "1;a\rb\r\n",
                                    "1;a\x01\r\n",
                                    "0\r\n: x\r\n",
                                    "0\r\nno trailer\r\n",
                                    "0\r\n folded: x\r\n",
                                    "0\r\nHost: other\r\n",
                                    "0\r\nContent-Length: 1\r\n",
                                    "0\r\nTransfer-Encoding: chunked\r\n",
                                    "10000000000000000\r\n",
                                    "ffffffffffffffff\r\n"}) {
        CAPTURE(bytes);
        CHECK(is_refused(bytes));
    }
    CHECK(is_refused("1;" + std::string(5000, 'x')));
    std::string trailers = "0\r\n";
    for (int i = 0; i < 100; ++i) {
        trailers += "X: " + std::string(200, 'x') + "\r\n";
    }
    CHECK(is_refused(trailers));
}
