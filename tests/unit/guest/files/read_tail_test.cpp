#include "sandbox/base/sha256.hpp"
#include "sandbox/protocol/listing.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <algorithm>
#include <vector>

using namespace berth;
using namespace berth::guest;
using namespace berth::guest::testing;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

constexpr off_t above_hashed = 2LL * 1024 * 1024 * 1024;

protocol::ReadFileRequest tail_request(const std::string& path, std::uint64_t from_end,
                                       std::uint64_t limit = 2000, std::uint64_t budget = 50'000)
{
    auto request = read_request(path, 0, limit, budget);
    request.from_end = from_end;
    return request;
}

protocol::ReadFileRequest tail_bytes(const std::string& path, std::uint64_t from_end,
                                     std::uint64_t limit = 2000)
{
    auto request = tail_request(path, from_end, limit);
    request.encoding = protocol::Encoding::bytes;
    return request;
}

std::vector<std::string> lines_of(std::string_view text)
{
    std::vector<std::string> lines;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size() - 1) + 1;
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return lines;
}

std::string as_utf16(std::string_view ascii, bool big_endian)
{
    std::string text = big_endian ? "\xfe\xff" : "\xff\xfe";
    for (const char c : ascii) {
        text += big_endian ? '\0' : c;
        text += big_endian ? c : '\0';
    }
    return text;
}

/// Writes at the end of a file that is a hole before.
void put_end(const Machine& machine, const std::string& name, std::string_view end)
{
    const UniqueFd fd(::open((machine.home + "/" + name).c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::pwrite(fd.get(), end.data(), end.size(), above_hashed) ==
            static_cast<ssize_t>(end.size()));
}

} // namespace

TEST_CASE("the last lines of any text are those of the whole, with their numbers")
{
    const Machine machine;
    for (const auto text : {""sv, "a"sv, "a\n"sv, "\n"sv, "\n\n\n"sv, "a\nb\nc\n"sv, "a\nb\nc"sv,
                            "a\r\nb\r\n"sv, "a\r\nb"sv, "a\n\nb\n\n"sv}) {
        const auto lines = lines_of(text);
        for (const int form : {0, 1, 2, 3}) {
            const std::string content = form == 0   ? std::string(text)
                                        : form == 1 ? "\xef\xbb\xbf" + std::string(text)
                                                    : as_utf16(text, form == 3);
            machine.put("f", content);
            for (std::uint64_t n = 1; n <= 6; ++n) {
                CAPTURE(text);
                CAPTURE(form);
                CAPTURE(n);
                const auto reply = read_file(tail_request("f", n), machine.context);
                const auto count = std::min<std::uint64_t>(n, lines.size());
                std::string wanted;
                for (auto i = lines.size() - count; i < lines.size(); ++i) {
                    wanted += lines[i];
                }
                CHECK(reply.content == wanted);
                CHECK(reply.line_count == count);
                CHECK(reply.first_line == (count == 0 ? 0 : lines.size() - count + 1));
                CHECK(reply.total_lines == lines.size());
                CHECK(reply.lines_from_end == 0);
                CHECK(reply.truncated_by.empty());
                CHECK(reply.final_newline == text.ends_with('\n'));
                CHECK(reply.sha256 == sha256_hex(content));
                CHECK(reply.size == content.size());
            }
        }
    }
}

TEST_CASE("limit and budget apply from where the last lines begin")
{
    const Machine machine;
    machine.put("f", "1\n22\n333\n4444\n");
    auto reply = read_file(tail_request("f", 3, 2), machine.context);
    CHECK(reply.content == "22\n333\n");
    CHECK(reply.first_line == 2);
    CHECK(reply.truncated_by == "limit");
    reply = read_file(tail_request("f", 3, 10, 8), machine.context);
    CHECK(reply.content == "22\n333\n");
    CHECK(reply.truncated_by == "budget");
    reply = read_file(tail_request("f", 1, 10, 3), machine.context);
    CHECK(reply.content == "444");
    CHECK(reply.first_line == 4);
    CHECK(reply.truncated_by == "line");
}

TEST_CASE("last lines that lie across pieces, and code units that only look like a newline")
{
    const Machine machine;
    const std::string middle(600'000, 'x');
    machine.put("f", "one\n" + middle + "\nlast\n");
    auto reply = read_file(tail_request("f", 2, 10, 2'000'000), machine.context);
    CHECK(reply.content == middle + "\nlast\n");
    CHECK(reply.first_line == 2);
    for (const std::size_t before : {262'143UL, 262'144UL, 262'145UL}) {
        machine.put("f", std::string(before - 1, 'x') + "\nlast");
        CHECK(read_file(tail_request("f", 1), machine.context).content == "last");
    }
    // U+0A0A, U+0A00 and U+000A: only the last is one.
    machine.put("f", "\xff\xfe\x0a\x0a\x00\x0a\x0a\x00z\x00"sv);
    CHECK(read_file(tail_request("f", 1), machine.context).content == "z");
    CHECK(read_file(tail_request("f", 2), machine.context).content == "\u0A0A\u0A00\nz");
    machine.put("f", "\xfe\xff\x0a\x0a\x0a\x00\x00\x0a\x00z\x00"sv); // and half a unit
    CHECK(read_file(tail_request("f", 1), machine.context).content == "z\uFFFD");
    machine.put("f", "a\n\xff\xfe\n");
    reply = read_file(tail_request("f", 1), machine.context);
    CHECK(reply.encoding == "invalid-utf-8");
    CHECK(reply.content == "\uFFFD\uFFFD\n");
}

TEST_CASE("the end of a file too large to be counted is read alone")
{
    const Machine machine;
    machine.put("big", "first\n" + std::string(100'000, 'x'));
    put_end(machine, "big", "\nlast but two\nlast but one\nlast");
    auto reply = read_file(tail_request("big", 3), machine.context);
    CHECK(reply.content == "last but two\nlast but one\nlast");
    CHECK(reply.first_line == 0);
    CHECK(reply.lines_from_end == 3);
    CHECK(reply.line_count == 3);
    CHECK(reply.totals_partial);
    CHECK_FALSE(reply.final_newline);
    CHECK(reply.sha256.empty());
    CHECK(reply.truncated_by.empty());
    reply = read_file(tail_request("big", 2, 1), machine.context);
    CHECK(reply.content == "last but one\n");
    CHECK(reply.lines_from_end == 2);
    CHECK(reply.truncated_by == "limit");
    // The fourth line from the end is 2 GiB long: its beginning is not looked for that far.
    CHECK(error_of([&] { (void)read_file(tail_request("big", 4), machine.context); }).code() ==
          ErrorCode::too_large);
    CHECK(read_file(tail_bytes("big", 4), machine.context).content == "last");
}

TEST_CASE("the last bytes of a file")
{
    const Machine machine;
    machine.put("f", "0123456789");
    auto reply = read_file(tail_bytes("f", 3), machine.context);
    CHECK(reply.content == "789");
    CHECK(reply.skipped == 7);
    CHECK(reply.truncated_by.empty());
    CHECK(reply.sha256 == sha256_hex("0123456789"));
    reply = read_file(tail_bytes("f", 3, 2), machine.context);
    CHECK(reply.content == "78");
    CHECK(reply.truncated_by == "limit");
    reply = read_file(tail_bytes("f", 99), machine.context);
    CHECK(reply.content == "0123456789");
    CHECK(reply.skipped == 0);
}

TEST_CASE("the end of files of /proc, which say that they are empty")
{
    const Machine machine;
    const auto whole = read_file(read_request("/proc/cpuinfo"), machine.context);
    REQUIRE(whole.total_lines > 3);
    const auto reply = read_file(tail_request("/proc/cpuinfo", 3), machine.context);
    CHECK(reply.line_count == 3);
    CHECK(reply.first_line == reply.total_lines - 2);
    CHECK(reply.truncated_by.empty());
    const auto version = read_file(read_request("/proc/version"), machine.context).content;
    CHECK(read_file(tail_bytes("/proc/version", 5), machine.context).content ==
          version.substr(version.size() - 5));
}

TEST_CASE("the last entries of a directory by name, in order")
{
    const Machine machine(tests::place_in_memory());
    ::mkdir((machine.home + "/d").c_str(), 0755);
    constexpr std::uint64_t total = protocol::max_listed_entries + 20;
    for (std::uint64_t i = 0; i < total; ++i) {
        const std::string name = machine.home + "/d/" + std::to_string(1'000'000 + i);
        REQUIRE(::symlink("x", name.c_str()) == 0); // quickly made
    }
    auto reply = read_file(tail_request("d", 15, 10), machine.context);
    REQUIRE(reply.entries.size() == 10);
    CHECK(reply.entries.front().name == "1100005");
    CHECK(reply.entries.back().name == "1100014");
    CHECK(reply.skipped == total - 15);
    CHECK(reply.total_entries == total);
    CHECK(reply.truncated_by == "limit");
    reply = read_file(tail_request("d", 5), machine.context);
    CHECK(reply.entries.back().name == "1100019");
    CHECK(reply.truncated_by.empty());
    ::mkdir((machine.home + "/e").c_str(), 0755);
    machine.put("e/a", "");
    CHECK(read_file(tail_request("e", 5), machine.context).entries.size() == 1);
}
