#include "sandbox/base/error.hpp"
#include "sandbox/guest/job_reading.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace berth::guest::test {
namespace {

struct Streams {
    Streams()
    {
        out.keep_newest();
        err.keep_newest();
    }

    tests::TemporaryDirectory directory;
    SpillStore store{directory / "s", 0, 0};
    OutputStream out{UniqueFd(), 0, 0, store, "stdout"};
    OutputStream err{UniqueFd(), 0, 0, store, "stderr"};

    [[nodiscard]] JobCursor end() const { return {out.total_bytes(), err.total_bytes()}; }
};

protocol::JobOutputRequest request(const std::string& filter = "")
{
    protocol::JobOutputRequest request;
    request.filter = filter;
    request.head_limit = 1'000'000;
    return request;
}

/// A thousand lines of a hundred bytes.
std::string lines()
{
    std::string text;
    for (int line = 0; line < 1000; ++line) {
        text += std::string(99, line % 10 == 0 ? 'x' : '-') + "\n";
    }
    return text;
}

} // namespace

TEST_CASE("a filter that is none, or too large, is refused by its name")
{
    for (const char* filter : {"(", "(?=a)", "0.{40}1.{900}x"}) {
        CAPTURE(filter);
        try {
            const JobReading reading(request(filter), {});
            CHECK(false);
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            CHECK(std::string_view(error.what()).starts_with("filter: bad pattern: "));
            CHECK(!error.hint().empty());
        }
    }
}

TEST_CASE("both streams are read, with a filter a part at a time")
{
    Streams job;
    job.out.add(lines());
    job.err.add(lines() + "x");
    JobReading all(request(), {100, 0});
    CHECK(all.read_on(job.out, job.err, job.end()) == JobReading::State::through);
    protocol::JobOutputReply reply;
    all.put_into(reply, job.out, job.err, job.end());
    CHECK(reply.out.text.total_bytes == 99'900);
    CHECK(reply.err.text.total_bytes == 100'001);
    CHECK(reply.cursor == "100000-100001");

    JobReading some(request("x"), {100, 0});
    int turns = 0;
    for (; some.read_on(job.out, job.err, job.end()) == JobReading::State::fetched; ++turns) {
        some.judge();
    }
    CHECK(turns >= 2);
    some.put_into(reply, job.out, job.err, job.end());
    CHECK(reply.out.text.total_bytes == 9'900);
    CHECK(reply.out.filtered_lines == 900);
    CHECK(reply.err.text.total_bytes == 10'001);
    CHECK(reply.cursor == "100000-100001");
    CHECK(reply.out.unjudged + reply.err.unjudged == 0);
}

TEST_CASE("what a filter had no time for is counted, and left to the next call from a line on")
{
    Streams job;
    job.out.add(lines());
    JobReading reading(request("x"), {});
    reading.stop(); // after each line
    for (int turn = 0; turn < 3; ++turn) {
        REQUIRE(reading.read_on(job.out, job.err, job.end()) == JobReading::State::fetched);
        reading.judge();
    }
    REQUIRE(reading.read_on(job.out, job.err, job.end()) == JobReading::State::fetched);
    protocol::JobOutputReply reply;
    reading.put_into(reply, job.out, job.err, job.end());
    CHECK(reply.cursor == "300-0");
    CHECK(reply.out.text.total_bytes == 100);
    CHECK(reply.out.filtered_bytes == 200);
    CHECK(reply.out.end == 300);
    CHECK(reply.out.unjudged == 99'700);
}

} // namespace berth::guest::test
