#include "sandbox/base/io.hpp"
#include "sandbox/guest/exec/job_reader.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>

namespace berth::guest::test {
namespace {

using namespace std::chrono_literals;

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
                         std::uint64_t limit = 1'000'000)
{
    JobReader reader(begin, limit, limit);
    while (!reader.read_on(stream, stream.total_bytes())) {
    }
    return reader.result(stream);
}

JobReader filtering(const std::string& pattern, std::uint64_t limit = 1'000'000)
{
    return {0, LineFilter(std::make_shared<search::Matcher>(pattern, search::MatcherOptions()),
                          ControlCharacters::strip, limit, limit)};
}

/// In turns, of which each is over after one line.
void read_all(JobReader& reader, const OutputStream& stream)
{
    while (reader.fetch(stream, stream.total_bytes())) {
        reader.judge([] { return true; });
    }
}

/// For who has waited since `since`.
Readable at(const OutputStream& stream, BootClock::time_point now, std::uint64_t begin = 0,
            BootClock::time_point since = {})
{
    return readable(stream, begin, {begin, since}, now);
}

} // namespace

TEST_CASE("a cursor is two numbers, and nothing else is one")
{
    CHECK(JobCursor{12, 3}.to_text() == "12-3");
    CHECK(JobCursor::parse("12-3").out == 12);
    CHECK(JobCursor::parse("12-3").err == 3);
    CHECK(JobCursor::parse("").to_text() == "0-0");
    for (const char* bad : {"12", "12-", "-3", "12-3-4", "12-3 ", " 12-3", "a-b", "12.3", "+1-2",
                            "12-03", "99999999999999999999999-0", "1-2\u202e"}) {
        CAPTURE(bad);
        try {
            (void)JobCursor::parse(bad);
            CHECK(false);
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            CHECK(std::string_view(error.what()).find("\u202e") == std::string_view::npos);
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
            const auto part = read(job.stream, begin, limit);
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
            const auto part = read(job.stream, begin, limit);
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

TEST_CASE("an unfinished line is held back, for a moment, while somebody may finish it")
{
    auto pipe = make_pipe();
    Job job(std::move(pipe.read));
    job.stream.add("whole\nrest");
    const auto now = job.stream.last_data();
    CHECK(at(job.stream, now).end == 6);
    CHECK(at(job.stream, now).again == now + 200ms);
    CHECK(at(job.stream, now + 200ms).end == 10); // a prompt
    CHECK_FALSE(at(job.stream, now + 200ms).again.has_value());
    job.stream.add("ing");
    CHECK(at(job.stream, job.stream.last_data(), 10).end == 6);
    job.stream.close();
    CHECK(at(job.stream, job.stream.last_data(), 10).end == 13);
}

TEST_CASE("what goes on without a newline and without a pause is shown after a moment")
{
    auto pipe = make_pipe();
    Job job(std::move(pipe.read));
    job.stream.add(".");
    const auto began = job.stream.unfinished_since();
    do {
        job.stream.add("."); // the pause is always shorter than what a prompt has
    } while (job.stream.last_data() == began);
    CHECK(at(job.stream, began + 199ms).end == 0);
    CHECK(at(job.stream, began + 199ms).again <= began + 1000ms);
    CHECK(at(job.stream, began + 1000ms).end == job.stream.total_bytes());
    CHECK(at(job.stream, began + 1000ms).news);
}

TEST_CASE("a line without an end is not waited for")
{
    auto pipe = make_pipe();
    Job job(std::move(pipe.read));
    job.stream.add(std::string(70'000, 'x'));
    CHECK(at(job.stream, job.stream.last_data()).end == 70'000);
    CHECK(at(job.stream, job.stream.last_data()).news);
}

TEST_CASE("a whole line is news, and so are a prompt and the end; nothing new is none")
{
    auto pipe = make_pipe();
    Job job(std::move(pipe.read));
    job.stream.add("one\n");
    const auto now = job.stream.last_data();
    CHECK(at(job.stream, now, 0, now).news);
    CHECK(at(job.stream, now, 2, now).news); // the end of what was shown in part
    CHECK_FALSE(at(job.stream, now + 1h, 4, now).news);
    CHECK_FALSE(at(job.stream, now, 4, now).again.has_value());
    job.stream.add("? ");
    const auto asked = job.stream.last_data();
    CHECK_FALSE(at(job.stream, asked + 199ms, 4, now).news);
    CHECK(at(job.stream, asked + 200ms, 4, now).news);
    CHECK(at(job.stream, asked, 4, now).again == asked + 200ms);
    job.stream.close();
    CHECK(at(job.stream, asked, 4, now).news);
}

TEST_CASE("what is added to a line that was shown wakes once a second at most")
{
    auto pipe = make_pipe();
    Job job(std::move(pipe.read));
    job.stream.add("....");
    const auto shown = job.stream.last_data() + 2s; // and asked for again at once
    CHECK_FALSE(at(job.stream, shown + 2s, 4, shown).news);
    CHECK(at(job.stream, shown, 3, shown).again == shown + 1000ms);
    CHECK_FALSE(at(job.stream, shown + 999ms, 3, shown).news);
    CHECK(at(job.stream, shown + 1000ms, 3, shown).news);
}

TEST_CASE("a bar wakes nobody while it moves, and is shown to who asks")
{
    auto pipe = make_pipe();
    Job job(std::move(pipe.read));
    job.stream.add("begin\n 1%\r 2%");
    for (int i = 0; i < 10'000; ++i) {
        job.stream.add("\r[####      ] 40%"); // of more than is waited for of other lines
    }
    const auto moved = job.stream.last_data();
    const auto long_ago = moved - 1h;
    CHECK(at(job.stream, moved, 5, long_ago).news); // the line before it
    CHECK_FALSE(at(job.stream, moved + 2999ms, 6, long_ago).news);
    CHECK(at(job.stream, moved + 2999ms, 6, long_ago).again == moved + 3000ms);
    CHECK(at(job.stream, moved + 3000ms, 6, long_ago).news); // it stands still
    CHECK(at(job.stream, moved + 1000ms, 6, long_ago).end == job.stream.total_bytes());
    job.stream.add("\r100%\n");
    CHECK(at(job.stream, job.stream.last_data(), 6, long_ago).news);
    job.stream.add("next\r\n? ");
    const auto asked = job.stream.last_data();
    CHECK(at(job.stream, asked + 200ms, job.stream.lines_end(), long_ago).news); // no bar any more
}

TEST_CASE("a filter is asked of every line, whatever pieces and turns they come in")
{
    Job job;
    std::string whole;
    std::size_t wanted = 0;
    while (whole.size() < 300'000) {
        const bool match = whole.size() % 7 == 0;
        wanted += match ? 1 : 0;
        whole += std::string(whole.size() % 1000, 'x') + (match ? "needle\n" : "straw\n");
    }
    job.stream.add(whole);
    auto reader = filtering("x?needle");
    read_all(reader, job.stream);
    const auto part = reader.result(job.stream);
    CHECK(part.text.total_lines == wanted);
    CHECK(part.text.total_bytes + part.filtered_bytes == whole.size());
    CHECK(part.end == whole.size());
}

TEST_CASE("a filter does not judge the half of a line, but by a match that it has")
{
    auto pipe = make_pipe();
    Job job(std::move(pipe.read));
    job.stream.add("one\nStarting");
    auto reader = filtering("Start.*done|ask");
    read_all(reader, job.stream);
    CHECK(!reader.has_text());
    job.stream.add(" done\nask ");
    read_all(reader, job.stream);
    CHECK(reader.result(job.stream).text.head == "Starting done\nask ");
    job.stream.add("\nrest");
    read_all(reader, job.stream);
    reader.settle(/*goes_on=*/true); // for who comes next
    CHECK(reader.at() == 23);
    CHECK(reader.result(job.stream).filtered_bytes == 5);
    CHECK(reader.result(job.stream).filtered_lines == 2);
}

TEST_CASE("a gap ends the line before it, also for a filter")
{
    SpillStore store("/proc/nowhere", 0, 0);
    OutputStream stream(UniqueFd(), 0, 0, store, "stdout");
    stream.keep_newest();
    stream.add("lost");
    auto reader = filtering("a$");
    read_all(reader, stream);
    stream.add(std::string(50'000, 'a') + "\n");
    read_all(reader, stream);
    reader.settle(/*goes_on=*/false);
    const auto part = reader.result(stream);
    CHECK(part.text.head == std::string(8191, 'a') + "\n");
    CHECK(part.filtered_bytes == 4);
    CHECK(part.dropped == 50'005 - 8192 - 4);
    CHECK(part.text.total_bytes + part.filtered_bytes + part.dropped == part.end);
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
            const auto now = job.stream.last_data();
            CHECK(at(job.stream, now).end == 70'000 + (size == whole.size() ? size : 0));
            job.stream.close();
            CHECK(at(job.stream, now).end == 70'000 + size);
        }
    }
    auto pipe = make_pipe();
    Job job(std::move(pipe.read));
    job.stream.add(std::string(70'000, '\x80')); // no character at all
    CHECK(at(job.stream, job.stream.last_data()).end == 70'000);
    job.stream.add("\xff");
    CHECK(at(job.stream, job.stream.last_data()).end == 70'001);
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
