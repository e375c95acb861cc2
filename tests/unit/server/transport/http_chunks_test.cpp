#include "server/transport/http_chunks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>

using namespace berth; // NOLINT(google-build-using-namespace): the subject of the test

namespace {

/// How many bytes of `text` are taken that comes in pieces of `size`.
std::size_t taken_of(const std::string& text, std::size_t size)
{
    transport::HttpChunks chunks;
    std::size_t taken = 0;
    while (taken < text.size()) {
        const auto piece = text.substr(taken, size);
        const auto count = chunks.take(piece);
        taken += count;
        if (count < piece.size()) {
            CHECK(chunks.take("0\r\n\r\n") == 0); // nothing more
            break;
        }
    }
    return taken;
}

} // namespace

TEST_CASE("chunks are taken to their last byte, in whatever pieces they come")
{
    const std::string next = "POST /";
    for (const std::string body :
         {"0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", "003\r\nabc\r\n000\r\n\r\n",
          "A;x=\"y\"\r\n0\r\n\r\n01234\r\n1;\r\nx\r\n0;last\r\n\r\n"}) {
        CAPTURE(body);
        for (std::size_t size = 1; size < body.size() + next.size() + 1; ++size) {
            CHECK(taken_of(body + next, size) == body.size());
        }
    }
}

TEST_CASE("of chunks that are none, what comes before the first wrong byte is taken")
{
    struct Wrong {
        std::string good;
        std::string bad;
    };

    for (const auto& [good, bad] :
         {Wrong{"", "-2\r\nabc"}, Wrong{"", "+3\r\n"}, Wrong{"", " 3\r\n"}, Wrong{"", "\r\n"},
          Wrong{"", ";x\r\n"}, Wrong{"0", "x3\r\n"}, Wrong{"3", " \r\n"}, Wrong{"3", "\nabc"},
          Wrong{"3", "g\r\n"}, Wrong{"3\r", "abc"}, Wrong{"3;a", "\nb\r\n"},
          Wrong{"3\r\nabc", "X\r\n"}, Wrong{"3\r\nabc", "\n0\r\n"}, Wrong{"3\r\nabc\r", "0\r\n"},
          Wrong{"0\r\n", "A: b\r\n\r\n"}, Wrong{"0\r\n\r", "x"}, Wrong{"1234567890abcdef", "0\r\n"},
          Wrong{"0000000000000000", "0"}, Wrong{"1;" + std::string(256, 'x'), "x\r\n"}}) {
        CAPTURE(good);
        CAPTURE(bad);
        for (const std::size_t size : {std::size_t{1}, std::size_t{2}, std::size_t{1000}}) {
            CHECK(taken_of(good + bad, size) == good.size());
        }
    }
}
