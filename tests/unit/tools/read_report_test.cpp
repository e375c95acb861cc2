#include "sandbox/base/base64.hpp"
#include "tests/unit/tools/text_reply.hpp"
#include "tools/read_file.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace protocol = berth::protocol;
using berth::tools::ReadFile;
using berth::tools::Result;
using berth::tools::Settings;
using berth::tools::test::text_reply;

namespace {

Result render(const protocol::ReadFileReply& reply, const ReadFile::Args& args = {},
              const Settings& settings = {})
{
    return ReadFile::render(args, reply, settings);
}

} // namespace

TEST_CASE("a whole ordinary file is its numbered lines and nothing else")
{
    CHECK(render(text_reply("one\ntwo\n")).text == "1\tone\n2\ttwo\n");
    CHECK(render(text_reply("one\n\n"), {.line_numbers = false}).text == "one\n\n");
}

TEST_CASE("the beginning of the hash is shown where there is one")
{
    auto reply = text_reply("one\n");
    reply.sha256 = "1a2b3c4d5e6f7890";
    CHECK(render(reply).text == "[sha256 1a2b3c4d5e6f]\n1\tone\n");
}

TEST_CASE("a part of a file says which part and how to go on")
{
    const auto result = render(text_reply("l101\nl102\n", 101, 300), {.offset = 100});
    CHECK(result.text == "[lines 101–102 of 300 (offset 100 skips 100) · next: offset 102]\n"
                         "101\tl101\n102\tl102\n");
    CHECK(result.data->at("next_offset") == 102);
    const auto first = render(text_reply("a\n", 1, 2));
    CHECK(first.text == "[line 1 of 2 · next: offset 1]\n1\ta\n");
    const auto last = render(text_reply("b\n", 2, 2), {.offset = 1});
    CHECK(last.text == "[line 2 of 2 (offset 1 skips 1)]\n2\tb\n");
    CHECK(last.data->at("next_offset") == 0);
}

TEST_CASE("totals of a file that was not read to its end are told as partial")
{
    auto reply = text_reply("l101\nl102\n", 101, 300);
    reply.totals_partial = true;
    reply.final_newline = false;
    reply.size = 2'000'000'000;
    auto result = render(reply, {.offset = 100});
    CHECK(result.text ==
          "[lines 101–102 of at least 300 (offset 100 skips 100) · next: offset 102]\n"
          "101\tl101\n102\tl102\n");
    CHECK(result.data->at("total_lines") == 300);
    CHECK(result.data->at("totals_partial") == true);
    CHECK(result.data->at("message") == "2 lines of at least 300");

    // All that was counted is shown, and there is more all the same.
    reply = text_reply("a\nb\n");
    reply.totals_partial = true;
    reply.size = 2'000'000'000;
    result = render(reply);
    CHECK(result.text == "[lines 1–2 of at least 2 · next: offset 2]\n1\ta\n2\tb\n");
    CHECK(result.data->at("next_offset") == 2);
    CHECK(render(text_reply("a\n")).data->at("totals_partial") == false);
}

TEST_CASE("the end of a file says which lines these are, also where they have no number")
{
    auto result = render(text_reply("l299\nl300\n", 299, 300), {.offset = -2});
    CHECK(result.text == "[lines 299–300 of 300 (offset -2)]\n299\tl299\n300\tl300\n");
    CHECK(result.data->at("next_offset") == 0);
    result = render(text_reply("l299\n", 299, 300), {.offset = -2, .limit = 1});
    CHECK(result.text == "[line 299 of 300 (offset -2) · next: offset 299]\n299\tl299\n");
    CHECK(render(text_reply("a\nb\n"), {.offset = -9}).text == "1\ta\n2\tb\n");
    CHECK(render(text_reply(""), {.offset = -9}).text == "[the file is empty]");

    auto large = text_reply("a\nb\nc", 0, 4);
    large.lines_from_end = 4;
    large.first_line = 0;
    large.totals_partial = true;
    large.size = 2'000'000'000;
    result = render(large, {.offset = -4});
    CHECK(result.text == "[lines -4 to -2, counted from the end: of a file above 1 GiB the lines "
                         "before are not counted · no newline at the end · next: offset -1]\n"
                         "-4\ta\n-3\tb\n-2\tc\n");
    CHECK(result.data->at("first_line") == -4);
    CHECK(result.data->at("next_offset") == -1);
    // From a sandbox that was taken over: no number that it says is undefined behaviour.
    large.lines_from_end = std::uint64_t{1} << 63U;
    CHECK_NOTHROW((void)render(large, {.offset = -4}));
    large.lines_from_end = 3;
    CHECK(render(large, {.offset = -3}).data->at("next_offset") == 0);
    Settings settings;
    settings.read_budget = 20;
    large.content = std::string(100, 'x') + "\n";
    CHECK(render(large, {.offset = -3}, settings).text.find("line -3 is too long and was cut") !=
          std::string::npos);
    CHECK(ReadFile::request({.offset = -7}, Settings{}).from_end == 7);
    CHECK(ReadFile::request({.offset = 7}, Settings{}).from_end == 0);
}

TEST_CASE("the end of bytes and of a directory says where it is")
{
    protocol::ReadFileReply reply;
    reply.path = "/b";
    reply.kind = protocol::FileKind::binary;
    reply.size = 10;
    reply.skipped = 7;
    reply.content = "foo";
    CHECK(render(reply, {.offset = -3, .base64 = true}).text == "[bytes 7–9 of 10]\nZm9v");
    reply.kind = protocol::FileKind::directory;
    reply.content.clear();
    reply.entries = {{"x", "directory", 0, ""}, {"y", "directory", 0, ""}};
    reply.total_entries = 9;
    CHECK(render(reply, {.offset = -2}).text ==
          "[/b: directory, 9 entries · listed: 8–9]\nx/\ny/\n");
    reply.skipped = 3;
    CHECK(render(reply, {.offset = -6}).data->at("next_offset") == 5);
    reply.total_entries = 200'000; // what a count from the beginning cannot reach
    reply.skipped = 199'990;
    CHECK(render(reply, {.offset = -10}).data->at("next_offset") == -8);
}

TEST_CASE("empty files and offsets behind the end are told apart")
{
    CHECK(render(text_reply("")).text == "[the file is empty]");
    auto past = text_reply("", 0, 3);
    past.size = 6;
    past.final_newline = true;
    CHECK(render(past, {.offset = 7}).text == "[offset 7 is past the end: the file has 3 lines]");
}

TEST_CASE("what an edit must know is said in the header")
{
    auto crlf = text_reply("a\r\nb");
    crlf.line_ending = "crlf";
    crlf.encoding = "utf-8-bom";
    CHECK(render(crlf).text == "[begins with a byte order mark · CRLF line ends · no newline at "
                               "the end]\n1\ta\n2\tb\n");
    auto invalid = text_reply("a\xff\n");
    invalid.encoding = "invalid-utf-8";
    const auto result = render(invalid);
    CHECK(result.text.find("not valid UTF-8") != std::string::npos);
    CHECK(result.text.find("1\ta\xEF\xBF\xBD\n") != std::string::npos);
    CHECK(result.text.find("refuse") == std::string::npos);
    auto old = text_reply("a\rb\r");
    old.line_ending.clear();
    CHECK(render(old).text.find("CR alone") != std::string::npos);
    old.content = "a\r";
    CHECK(render(old).text.find("CR alone") == std::string::npos);
    old.content = "a";
    CHECK(render(old).text.find("CR alone") == std::string::npos);
}

TEST_CASE("the budget counts characters and keeps whole lines")
{
    Settings settings;
    settings.read_budget = 20;
    const auto result = render(text_reply("ééé\nééé\nééé\nééé\n"), {}, settings);
    // "1\tééé\n" is six characters
    CHECK(result.data->at("line_count") == 3);
    CHECK(result.data->at("truncated_by") == "budget");
    CHECK(result.data->at("next_offset") == 3);
    CHECK(result.text.find("lines 1–3 of 4") != std::string::npos);
}

TEST_CASE("a line that is longer than the budget is cut, and said to be")
{
    Settings settings;
    settings.read_budget = 20;
    const auto result = render(text_reply(std::string(100, 'x') + "\nb\n"), {}, settings);
    CHECK(result.data->at("truncated_by") == "line");
    CHECK(result.data->at("line_count") == 1);
    CHECK(result.data->at("content") == std::string(17, 'x'));
    CHECK(result.text.find(
              "line 1 is too long and was cut: these are its first 17 of 100 characters") !=
          std::string::npos);
    CHECK(result.data->at("next_offset") == 1);
}

TEST_CASE("base64 counts bytes")
{
    protocol::ReadFileReply reply;
    reply.path = "/b";
    reply.kind = protocol::FileKind::binary;
    reply.size = 10;
    reply.content = "foo";
    const auto part = render(reply, {.offset = 4, .base64 = true});
    CHECK(part.text == "[bytes 4–6 of 10 · next: offset 7]\nZm9v");
    CHECK(part.data->at("encoding") == "base64");
    CHECK(part.data->at("next_offset") == 7);
    reply.size = 3;
    CHECK(render(reply, {.base64 = true}).text == "Zm9v");
    reply.content.clear();
    CHECK(render(reply, {.offset = 9, .base64 = true}).text ==
          "[offset 9 is past the end: the file has 3 bytes]");
    reply.content = "foo";
    reply.size = 10;
    CHECK(render(reply, {.limit = 3, .base64 = true}).data->at("truncated_by") == "limit");
    CHECK(render(reply, {.base64 = true}).data->at("truncated_by") == "budget");
    const auto request = ReadFile::request({.limit = 1'000'000, .base64 = true}, Settings{});
    CHECK(request.limit == 37'500);
}

TEST_CASE("pictures are shown, unless they are too large")
{
    protocol::ReadFileReply reply;
    reply.path = "/a.png";
    reply.kind = protocol::FileKind::image;
    reply.mime_type = "image/png";
    reply.content =
        berth::base64_decode(
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9a"
            "wAAAABJRU5ErkJggg==")
            .value();
    reply.size = reply.content.size();
    const std::string png = reply.content;
    const auto shown = render(reply);
    REQUIRE(shown.images.size() == 1);
    CHECK(shown.images[0].data == png);
    CHECK(shown.images[0].mime_type == "image/png");
    CHECK(shown.text == "[image/png, 70 bytes, /a.png]");
    reply.content = png.substr(0, 60);
    const auto broken = render(reply);
    CHECK(broken.images.empty());
    CHECK(broken.data->at("kind") == "binary");
    CHECK(broken.text.find("damaged or cut off") != std::string::npos);
    reply.kind = protocol::FileKind::binary; // as the guest answers above the limit
    reply.size = 10'000'000;
    const auto described = render(reply);
    CHECK(described.images.empty());
    CHECK(described.text.find("too large to show as a picture (3.9 MB at most)") !=
          std::string::npos);
    CHECK(described.text.find("at most): make a smaller copy") != std::string::npos);
    CHECK(ReadFile::render({}, reply, Settings{}, "it has 1x1 pixels; ask")
              .text.find("at most): it has 1x1 pixels; ask · the first") != std::string::npos);
    CHECK(ReadFile::request({}, Settings{}).image_limit == 5UL * 1024 * 1024 / 4 * 3);
}

TEST_CASE("other binary files are described")
{
    protocol::ReadFileReply reply;
    reply.path = "/a.o";
    reply.kind = protocol::FileKind::binary;
    reply.size = 5000;
    reply.content = std::string(4096, '\x7f');
    const auto result = render(reply);
    CHECK(result.text.find("[binary file, 5.0 KB · the first 256 bytes in hex") == 0);
    CHECK(result.text.find("base64") != std::string::npos);
    CHECK(result.text.find("000000f0  7f") != std::string::npos);
    CHECK(result.text.find("00000100") == std::string::npos);
}

TEST_CASE("a directory is listed, with what does not fit told")
{
    protocol::ReadFileReply reply;
    reply.path = "/d";
    reply.kind = protocol::FileKind::directory;
    reply.entries = {{"sub", "directory", 0, ""},
                     {"f", "file", 1500, ""},
                     {"l", "symlink", 0, "f"},
                     {"p", "fifo", 0, ""}};
    reply.total_entries = 4;
    CHECK(render(reply).text == "[/d: directory, 4 entries]\nsub/\nf  1.5 KB\nl -> f\np  fifo\n");
    Settings settings;
    settings.read_budget = 10;
    const auto cut = render(reply, {}, settings);
    CHECK(cut.data->at("entries").size() == 1);
    CHECK(cut.data->at("truncated_by") == "budget");
    CHECK(cut.text == "[/d: directory, 4 entries · listed: 1–1 · next: offset 1]\nsub/\n");
    CHECK(cut.data->at("next_offset") == 1);
    settings.read_budget = 3; // less than one entry: a page of none would have no next one
    CHECK(render(reply, {}, settings).text == cut.text);
    reply.entries.erase(reply.entries.begin(), reply.entries.begin() + 3);
    const auto last = render(reply, {.offset = 3});
    CHECK(last.text == "[/d: directory, 4 entries · listed: 4–4]\np  fifo\n");
    CHECK(last.data->at("next_offset") == 0);
    CHECK(last.data->at("truncated_by") == "");
    reply.entries.clear();
    CHECK(render(reply, {.offset = 9}).text ==
          "[/d: directory, 4 entries · offset 9 is past the end]\n");
}

TEST_CASE("of a directory with more names than can be listed it is said how to see the others")
{
    const std::string hint = " · only the first 100,000 by name can be listed: for the others use "
                             "glob_files, or ls | tail in bash_exec]\n";
    protocol::ReadFileReply reply;
    reply.path = "/d";
    reply.kind = protocol::FileKind::directory;
    reply.entries = {{"x", "directory", 0, ""}};
    reply.total_entries = 120'000;
    const auto last = render(reply, {.offset = 99'999});
    CHECK(last.text == "[/d: directory, 120,000 entries · listed: 100,000–100,000" + hint + "x/\n");
    CHECK(last.data->at("truncated_by") == "limit");
    CHECK(last.data->at("next_offset") == 0);
    CHECK(render(reply, {.offset = 99'998}).data->at("next_offset") == 99'999);
    reply.entries.clear();
    const auto behind = render(reply, {.offset = 100'010});
    CHECK(behind.text == "[/d: directory, 120,000 entries" + hint);
    CHECK(behind.data->at("truncated_by") == "limit");
    CHECK(behind.data->at("next_offset") == 0);
    CHECK(render(reply, {.offset = 120'000}).text ==
          "[/d: directory, 120,000 entries · offset 120,000 is past the end]\n");
}
