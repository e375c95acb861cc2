#include "sandbox/base/io.hpp"
#include "sandbox/guest/exec/job_reader.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>

namespace berth::guest::test {
namespace {

struct Job {
    explicit Job(UniqueFd pipe = {}) : stream(std::move(pipe), 0, 0, store, "stdout")
    {
        stream.keep_newest();
    }

    tests::TemporaryDirectory directory;
    SpillStore store{directory / "s", 0, 0};
    OutputStream stream;
};

protocol::JobStream read(const OutputStream& stream, std::uint64_t begin,
                         const search::Matcher* filter = nullptr, std::uint64_t limit = 1'000'000)
{
    JobReader reader(begin, limit, limit, filter);
    while (!reader.read_on(stream, readable_end(stream, reader.at()))) {
    }
    reader.finish_line();
    return reader.result(stream);
}

} // namespace

TEST_CASE("a cursor is two numbers, and nothing else is one")
{
    CHECK(JobCursor{12, 3}.to_text() == "12-3");
    CHECK(JobCursor::parse("12-3").out == 12);
    CHECK(JobCursor::parse("12-3").err == 3);
    CHECK(JobCursor::parse("").to_text() == "0-0");
    for (const char* bad : {"12", "12-", "-3", "12-3-4", "12-3 ", " 12-3", "a-b", "12.3", "+1-2",
                            "99999999999999999999999-0"}) {
        CAPTURE(bad);
        try {
            (void)JobCursor::parse(bad);
            CHECK(false);
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
        }
    }
}

TEST_CASE("what is read plus what is left out is the whole, from every cursor")
{
    Job job;
    std::string whole;
    for (int line = 0; line < 3000; ++line) {
        whole += "line " + std::to_string(line) + "\n";
    }
    job.stream.add(whole);
    for (std::uint64_t begin = 0; begin <= whole.size(); begin += 997) {
        for (const std::uint64_t limit : {10UL, 1000UL, 1'000'000UL}) {
            const auto part = read(job.stream, begin, nullptr, limit);
            CAPTURE(begin);
            CAPTURE(limit);
            REQUIRE(part.end == whole.size());
            REQUIRE(part.dropped == 0);
            const auto& text = part.text;
            REQUIRE(text.head.size() + text.omitted_bytes + text.tail.size() ==
                    whole.size() - begin);
            REQUIRE(text.head == whole.substr(begin, text.head.size()));
            REQUIRE(text.tail == whole.substr(whole.size() - text.tail.size()));
        }
    }
}

TEST_CASE("an unfinished line is held back, for a moment, while somebody may finish it")
{
    auto pipe = make_pipe();
    Job job(std::move(pipe.read));
    job.stream.add("whole\nrest");
    std::optional<BootClock::time_point> again;
    CHECK(readable_end(job.stream, 0, &again) == 6);
    CHECK(again.has_value());
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    CHECK(readable_end(job.stream, 0) == 10); // a prompt
    job.stream.add("ing");
    CHECK(readable_end(job.stream, 10) == 6);
    job.stream.close();
    CHECK(readable_end(job.stream, 10) == 13);
}

TEST_CASE("a line without an end is not waited for")
{
    auto pipe = make_pipe();
    Job job(std::move(pipe.read));
    job.stream.add(std::string(70'000, 'x'));
    CHECK(readable_end(job.stream, 0) == 70'000);
}

TEST_CASE("a filter shows whole lines with a match and counts the others")
{
    Job job;
    job.stream.add("one error\ntwo\nthree error");
    const search::Matcher filter("err.r$", {});
    const auto part = read(job.stream, 0, &filter);
    CHECK(part.text.head == "one error\nthree error");
    CHECK(part.filtered_lines == 1);
    CHECK(part.filtered_bytes == 4);
    CHECK(part.end == 25);
}

TEST_CASE("a filter meets lines that lie across the pieces that are read")
{
    Job job;
    std::string whole;
    std::size_t wanted = 0;
    while (whole.size() < 3'000'000) {
        const bool match = whole.size() % 7 == 0;
        wanted += match ? 1 : 0;
        whole += std::string(whole.size() % 1000, 'x') + (match ? "needle\n" : "straw\n");
    }
    job.stream.add(whole);
    const search::Matcher filter("x?needle", {});
    const auto part = read(job.stream, 0, &filter, 10'000'000);
    CHECK(part.text.total_lines == wanted);
    CHECK(part.text.total_bytes + part.filtered_bytes == whole.size());
}

TEST_CASE("what is kept no more is counted")
{
    SpillStore store("/proc/nowhere", 0, 0);
    OutputStream stream(UniqueFd(), 0, 0, store, "stdout");
    stream.keep_newest();
    stream.add(std::string(50'000, 'a') + "\n");
    const auto part = read(stream, 1000);
    CHECK(part.begin == 1000);
    CHECK(part.dropped == 50'001 - 8192 - 1000);
    CHECK(part.text.total_bytes == 8192);
    CHECK(part.end == 50'001);
}

} // namespace berth::guest::test
