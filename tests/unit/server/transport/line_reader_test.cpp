#include "server/transport/line_reader.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

using berth::transport::LineReader;

namespace {

struct Bench {
    explicit Bench(std::size_t limit)
        : reader(
              limit,
              {.line = [this](std::string_view line) { lines.emplace_back(line); },
               .skipped = [this](std::string_view piece) { skipped += piece; },
               .too_long = [this] { lines.emplace_back("<" + std::exchange(skipped, "") + ">"); }})
    {
    }

    void feed(std::string_view bytes)
    {
        std::memcpy(reader.prepare(bytes.size()), bytes.data(), bytes.size());
        reader.commit(bytes.size());
    }

    std::vector<std::string> lines;
    std::string skipped;
    LineReader reader;
};

using Lines = std::vector<std::string>;

} // namespace

TEST_CASE("lines come out alike however the bytes are cut")
{
    const std::string stream = "one\n\n  \r\ntwo\nthree";
    for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
        Bench bench(16);
        for (std::size_t at = 0; at < stream.size(); at += piece) {
            bench.feed(std::string_view(stream).substr(at, piece));
        }
        CHECK(bench.lines == Lines{"one", "two"});
        bench.reader.finish();
        CHECK(bench.lines == Lines{"one", "two", "three"});
    }
}

TEST_CASE("a line beyond the limit is handed on in pieces, reported once and not kept")
{
    const std::string stream = "12345\n123456\nok\n" + std::string(1000, 'x') + "\nend\n";
    for (const std::size_t piece : {1U, 2U, 3U, 7U, 100U, 5000U}) {
        CAPTURE(piece);
        Bench bench(5);
        for (std::size_t at = 0; at < stream.size(); at += piece) {
            bench.feed(std::string_view(stream).substr(at, piece));
        }
        CHECK(bench.lines ==
              Lines{"12345", "<123456>", "ok", "<" + std::string(1000, 'x') + ">", "end"});
    }
}

TEST_CASE("an unfinished line that is too long is handed on at once and reported at the end")
{
    Bench bench(5);
    bench.feed("1234567");
    CHECK(bench.skipped == "1234567");
    bench.feed("8");
    CHECK(bench.lines.empty());
    bench.reader.finish();
    CHECK(bench.lines == Lines{"<12345678>"});
}
