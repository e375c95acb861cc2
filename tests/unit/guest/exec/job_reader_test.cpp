#include "sandbox/base/io.hpp"
#include "sandbox/guest/exec/job_reader.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
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
                            "12-03", "99999999999999999999999-0"}) {
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

TEST_CASE("of rewritten lines the last state is read, from every cursor, and the file has all")
{
    Job job;
    const std::string whole = "a\n10%\r20%\r30%\nb\r\n40%\r50%\r";
    for (const char byte : whole) {
        job.stream.add(std::string(1, byte));
    }
    CHECK(read(job.stream, 0).text.head == "a\n30%\nb\r\n50%\r");
    CHECK(read(job.stream, 0).text.folded_updates == 3);
    CHECK(read(job.stream, 0).text.spill_bytes == whole.size());
    for (std::uint64_t begin = 0; begin <= whole.size(); ++begin) {
        for (const std::uint64_t limit : {0UL, 2UL, 1000UL}) {
            const auto part = read(job.stream, begin, nullptr, limit);
            const auto& text = part.text;
            CAPTURE(begin);
            CAPTURE(limit);
            REQUIRE(part.end == whole.size());
            REQUIRE(text.total_bytes == whole.size() - begin);
            REQUIRE(text.head.size() + text.tail.size() + text.omitted_bytes + text.folded_bytes ==
                    whole.size() - begin);
        }
    }
}

TEST_CASE("a filter sees every state of a rewritten line, and the last is shown")
{
    Job job;
    job.stream.add("10%\r20%\rdone\nother\n");
    for (const char* pattern : {"20%", "^done$", "^10%"}) {
        CAPTURE(pattern);
        const search::Matcher filter(pattern, {});
        const auto part = read(job.stream, 0, &filter);
        CHECK(part.text.head == "done\n");
        CHECK(part.text.folded_updates == 2);
        CHECK(part.filtered_lines == 1);
        CHECK(part.text.total_bytes + part.filtered_bytes == part.end);
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

TEST_CASE("a filter that RE2 is slow with leaves its turn, and comes to the same")
{
    Job job;
    std::string whole;
    std::uint32_t random = 1;
    while (whole.size() < 300'000) {
        for (int digit = 0; digit < 900; ++digit) {
            random = random * 1'664'525 + 1'013'904'223;
            whole += (random >> 31U) != 0 ? '1' : '0';
        }
        whole += whole.size() > 290'000 ? "x\n" : "\n";
    }
    job.stream.add(whole);
    const search::Matcher filter("0[01]{40}1[01]{400}x", {.brief = true});
    JobReader reader(0, 1'000'000, 1'000'000, &filter);
    std::chrono::nanoseconds longest{0};
    bool through = false;
    int turns = 0;
    for (; !through; ++turns) {
        const auto began = BootClock::now();
        through = reader.read_on(job.stream, job.stream.total_bytes());
        longest = std::max(longest, BootClock::now() - began);
    }
    CHECK(longest < std::chrono::milliseconds(300)); // about 10, on an idle host
    CHECK(turns > 8);                                // more than pieces that are read
    const auto part = reader.result(job.stream);
    CHECK(part.end == whole.size());
    CHECK(part.text.total_lines >= 1);
    CHECK(part.text.total_bytes + part.filtered_bytes == whole.size());
    CHECK(reader.unjudged_lines() == 0);
}

TEST_CASE("a filter is small; what is too long for it is shown and counted")
{
    CHECK_THROWS_AS(search::Matcher("0.{40}1.{900}x", {.brief = true}), Error);
    (void)search::Matcher("0.{40}1.{900}x", {}); // grep_files takes it, on a thread of its own
    Job job;
    job.stream.add(std::string(60'000, 'a') + "\nshort\n");
    const search::Matcher filter("[xy]{400}z", {.brief = true});
    JobReader reader(0, 1'000'000, 1'000'000, &filter);
    CHECK(reader.read_on(job.stream, job.stream.total_bytes()));
    CHECK(reader.unjudged_lines() == 1);
    CHECK(reader.result(job.stream).text.total_bytes == 60'001);
    CHECK(reader.result(job.stream).filtered_lines == 1);
}

TEST_CASE("a filter does not judge the half of a line, but by a match that it has")
{
    auto pipe = make_pipe();
    Job job(std::move(pipe.read));
    job.stream.add("one\nStarting");
    const search::Matcher filter("Start.*done|ask", {.brief = true});
    JobReader reader(0, 1000, 1000, &filter);
    CHECK(reader.read_on(job.stream, job.stream.total_bytes()));
    reader.take_match();
    CHECK(!reader.has_text());
    job.stream.add(" done\nask ");
    CHECK(reader.read_on(job.stream, job.stream.total_bytes()));
    CHECK(reader.result(job.stream).text.head == "Starting done\n");
    reader.take_match();
    CHECK(reader.result(job.stream).text.head == "Starting done\nask ");
    job.stream.add("\nrest");
    CHECK(reader.read_on(job.stream, job.stream.total_bytes()));
    reader.take_match();
    reader.leave_line(); // for who comes next
    CHECK(reader.at() == 23);
    CHECK(reader.result(job.stream).filtered_bytes == 5);
}

TEST_CASE("what goes on without a newline and without a pause is shown after a moment")
{
    auto pipe = make_pipe();
    Job job(std::move(pipe.read));
    const auto began = BootClock::now();
    bool shown = false;
    while (!shown && BootClock::now() - began < std::chrono::seconds(10)) {
        job.stream.add(".");
        shown = readable_end(job.stream, 0) > 0;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    CHECK(shown);
}

TEST_CASE("an answer does not end inside a character that somebody may finish")
{
    for (const char* sign : {"é", "€", "😀"}) {
        const std::string whole(sign);
        for (std::size_t size = 1; size <= whole.size(); ++size) {
            auto pipe = make_pipe();
            Job job(std::move(pipe.read));
            job.stream.add(std::string(70'000, 'x'));
            for (std::size_t at = 0; at < size; ++at) {
                job.stream.add(whole.substr(at, 1));
            }
            CAPTURE(whole);
            CAPTURE(size);
            CHECK(readable_end(job.stream, 0) == 70'000 + (size == whole.size() ? size : 0));
            job.stream.close();
            CHECK(readable_end(job.stream, 0) == 70'000 + size);
        }
    }
    auto pipe = make_pipe();
    Job job(std::move(pipe.read));
    job.stream.add(std::string(70'000, '\x80')); // no character at all
    CHECK(readable_end(job.stream, 0) == 70'000);
    job.stream.add("\xff");
    CHECK(readable_end(job.stream, 0) == 70'001);
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
