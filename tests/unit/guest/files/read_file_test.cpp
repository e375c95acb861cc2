#include "sandbox/base/sha256.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/protocol/listing.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <thread>

#include <sys/socket.h>
#include <sys/un.h>

using namespace berth;
using namespace berth::guest;
using namespace berth::guest::testing;
using protocol::FileKind;
using namespace std::string_literals;
using namespace std::string_view_literals;

TEST_CASE("a page of lines, with what is true of the whole file")
{
    struct Row {
        std::string_view content;
        std::uint64_t offset, limit, budget;
        std::string_view page;
        std::uint64_t first, count, total;
        std::string_view truncated_by;
    };

    const Row rows[] = {
        {"", 0, 10, 100, "", 0, 0, 0, ""},
        {"a", 0, 10, 100, "a", 1, 1, 1, ""},
        {"a\n", 0, 10, 100, "a\n", 1, 1, 1, ""},
        {"a\n\n", 0, 10, 100, "a\n\n", 1, 2, 2, ""},
        {"a\nb\nc\n", 1, 1, 100, "b\n", 2, 1, 3, "limit"},
        {"a\nb\nc\n", 2, 1, 100, "c\n", 3, 1, 3, ""},
        {"a\nb\nc", 2, 1, 100, "c", 3, 1, 3, ""},
        {"a\nb\nc\n", 3, 1, 100, "", 0, 0, 3, ""},
        {"a\nb\nc\n", 1000, 1, 100, "", 0, 0, 3, ""},
        {"aaa\nbbb\nccc\n", 0, 10, 8, "aaa\nbbb\n", 1, 2, 3, "budget"},
        {"aaa\nbbb\nccc\n", 0, 10, 7, "aaa\n", 1, 1, 3, "budget"},
        {"aaaaaaaaaa\nb\n", 0, 10, 4, "aaaa", 1, 1, 2, "line"},
        {"aaaaaaaaaa", 0, 10, 10, "aaaaaaaaaa", 1, 1, 1, ""},
        {"\u00e4\u00e4\u00e4\n", 0, 10, 3, "\u00e4", 1, 1, 1, "line"},
        {"\U0001F600x\n", 0, 10, 3, "", 1, 1, 1, "line"},
        {"x\nlonger than that\n", 1, 10, 6, "longer", 2, 1, 2, "line"},
    };
    const Machine machine;
    for (const Row& row : rows) {
        CAPTURE(row.content);
        CAPTURE(row.offset);
        CAPTURE(row.budget);
        machine.put("f", row.content);
        const auto reply =
            read_file(read_request("f", row.offset, row.limit, row.budget), machine.context);
        CHECK(reply.kind == FileKind::text);
        CHECK(reply.content == row.page);
        CHECK(reply.first_line == row.first);
        CHECK(reply.line_count == row.count);
        CHECK(reply.total_lines == row.total);
        CHECK(reply.truncated_by == row.truncated_by);
        CHECK(reply.size == row.content.size());
        CHECK(reply.sha256 == sha256_hex(row.content));
        CHECK(reply.final_newline == row.content.ends_with('\n'));
        CHECK(reply.path == machine.home + "/f");
    }
}

TEST_CASE("encodings and line endings are told, bytes that are not text replaced")
{
    struct Row {
        std::string_view content, encoding, line_ending, page;
    };

    const Row rows[] = {
        {"a\nb\n", "utf-8", "lf", "a\nb\n"},
        {"a\r\nb\r\n", "utf-8", "crlf", "a\r\nb\r\n"},
        {"a\r\nb\n", "utf-8", "mixed", "a\r\nb\n"},
        {"a", "utf-8", "", "a"},
        {"\xef\xbb\xbf", "utf-8-bom", "", ""},
        {"\xef\xbb\xbfx\n", "utf-8-bom", "lf", "x\n"},
        {"gr\xfc\xdf\n", "invalid-utf-8", "lf", "gr\uFFFD\uFFFD\n"},
        {"ends in \xe2\x82", "invalid-utf-8", "", "ends in \uFFFD\uFFFD"},
        {"\xff\xfeh\0i\0\n\0\x3d\xd8\x00\xde"sv, "utf-16le", "lf", "hi\n\U0001F600"},
        {"\xfe\xff\0h\0\r\0\n"sv, "utf-16be", "crlf", "h\r\n"},
        {"\xff\xfeh\0\x00\xdex"sv, "utf-16le", "", "h\uFFFD\uFFFD"},
        {"\xff\xfeh\0\x00\xd8x"sv, "utf-16le", "", "h\uFFFD"},
    };
    const Machine machine;
    for (const Row& row : rows) {
        CAPTURE(row.page);
        machine.put("f", row.content);
        const auto reply = read_file(read_request("f"), machine.context);
        CHECK(reply.kind == FileKind::text);
        CHECK(reply.encoding == row.encoding);
        CHECK(reply.line_ending == row.line_ending);
        CHECK(reply.content == row.page);
        CHECK(reply.sha256 == sha256_hex(row.content));
        CHECK(utf8::is_valid(reply.content));
    }
}

TEST_CASE("pieces of the stream do not show: characters and CRLF across their border")
{
    const Machine machine;
    for (const std::size_t before : {262'141UL, 262'142UL, 262'143UL, 262'144UL}) {
        const std::string content = std::string(before, 'x') + "\u20AC\r\n\u20AC\r\n";
        machine.put("f", content);
        const auto reply = read_file(read_request("f", 1), machine.context);
        CHECK(reply.encoding == "utf-8");
        CHECK(reply.line_ending == "crlf");
        CHECK(reply.total_lines == 2);
        CHECK(reply.content == "\u20AC\r\n");
        machine.put("g", std::string(before, 'x') + "\r\n");
        CHECK(read_file(read_request("g"), machine.context).line_ending == "crlf");
    }
}

TEST_CASE("binary files are described, images handed over, any file given in bytes")
{
    const Machine machine;
    const std::string png = "\x89PNG\r\n\x1a\n" + std::string(1000, '\x01');
    machine.put("i.txt", png);
    auto request = read_request("i.txt");
    auto reply = read_file(request, machine.context);
    CHECK(reply.kind == FileKind::image);
    CHECK(reply.mime_type == "image/png");
    CHECK(reply.content == png);
    CHECK(reply.sha256 == sha256_hex(png));

    request.image_limit = png.size() - 1;
    reply = read_file(request, machine.context);
    CHECK(reply.kind == FileKind::binary);
    CHECK(reply.mime_type == "image/png");
    CHECK(reply.content == png.substr(0, 256));
    CHECK(reply.size == png.size());

    const std::string raw = "abc\0def"s + std::string(400, 'z');
    machine.put("b", raw);
    reply = read_file(read_request("b"), machine.context);
    CHECK(reply.kind == FileKind::binary);
    CHECK(reply.mime_type.empty());
    CHECK(reply.content == raw.substr(0, 256));

    machine.put("w", "RIFF\x10\x00\x00\x00WEBPVP8 ...."s);
    CHECK(read_file(read_request("w"), machine.context).mime_type == "image/webp");

    machine.put("t", std::string(257, '\0') + "ustar" + std::string(250, '\0'));
    CHECK(read_file(read_request("t"), machine.context).mime_type == "application/x-tar");

    request = read_request("b", 2, 3);
    request.encoding = protocol::Encoding::bytes;
    reply = read_file(request, machine.context);
    CHECK(reply.content == "c\0d"sv);
    CHECK(reply.truncated_by == "limit");
    CHECK(reply.sha256 == sha256_hex(raw));
    request.offset = raw.size() - 1;
    reply = read_file(request, machine.context);
    CHECK(reply.content == "z");
    CHECK(reply.truncated_by.empty());
    request.offset = raw.size() + 5;
    CHECK(read_file(request, machine.context).content.empty());
}

TEST_CASE("a directory is listed by name, a page of it, with types and targets")
{
    const Machine machine;
    ::mkdir((machine.home + "/d").c_str(), 0755);
    ::mkdir((machine.home + "/d/sub").c_str(), 0755);
    machine.put("d/b", "12345");
    machine.put("d/A", "");
    machine.link("no where", "d/link");
    ::mkfifo((machine.home + "/d/pipe").c_str(), 0600);
    auto reply = read_file(read_request("d/"), machine.context);
    CHECK(reply.kind == FileKind::directory);
    CHECK(reply.total_entries == 5);
    REQUIRE(reply.entries.size() == 5);
    CHECK(reply.entries[0].name == "A");
    CHECK(reply.entries[1].name == "b");
    CHECK(reply.entries[1].size == 5);
    CHECK(reply.entries[1].type == "file");
    CHECK(reply.entries[2].type == "symlink");
    CHECK(reply.entries[2].target == "no where");
    CHECK(reply.entries[3].type == "fifo");
    CHECK(reply.entries[4].type == "directory");
    CHECK(reply.truncated_by.empty());
    reply = read_file(read_request("d", 1, 2), machine.context);
    REQUIRE(reply.entries.size() == 2);
    CHECK(reply.entries[0].name == "b");
    CHECK(reply.truncated_by == "limit");
    CHECK(read_file(read_request("d", 9, 2), machine.context).entries.empty());
}

TEST_CASE("a large directory is listed right within bounded memory")
{
    const Machine machine(tests::place_in_memory());
    ::mkdir((machine.home + "/d").c_str(), 0755);
    for (int i = 0; i < 5000; ++i) {
        machine.put("d/" + std::to_string(100'000 + (i * 7919) % 5000), "");
    }
    const auto reply = read_file(read_request("d", 10, 100), machine.context);
    CHECK(reply.total_entries == 5000);
    REQUIRE(reply.entries.size() == 100);
    CHECK(reply.entries.front().name == "100010");
    CHECK(reply.entries.back().name == "100109");
}

TEST_CASE("behind the names that can be listed no page shows others in their place")
{
    const Machine machine(tests::place_in_memory());
    ::mkdir((machine.home + "/d").c_str(), 0755);
    constexpr std::uint64_t total = protocol::max_listed_entries + 20;
    for (std::uint64_t i = 0; i < total; ++i) {
        const std::string name = machine.home + "/d/" + std::to_string(1'000'000 + i);
        REQUIRE(::symlink("x", name.c_str()) == 0); // quickly made
    }
    auto reply =
        read_file(read_request("d", protocol::max_listed_entries - 10, 15), machine.context);
    CHECK(reply.total_entries == total);
    REQUIRE(reply.entries.size() == 10);
    CHECK(reply.entries.front().name == "1099990");
    CHECK(reply.entries.back().name == "1099999");
    CHECK(reply.truncated_by == "limit");
    for (const auto offset : {protocol::max_listed_entries, total - 1, total + 10}) {
        CAPTURE(offset);
        reply = read_file(read_request("d", offset, 100), machine.context);
        CHECK(reply.total_entries == total);
        CHECK(reply.entries.empty());
        CHECK(reply.truncated_by == (offset < total ? "limit" : ""));
    }
}

TEST_CASE("what is no file answers at once")
{
    const Machine machine;
    ::mkfifo((machine.home + "/pipe").c_str(), 0644);
    const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    const std::string name = machine.home + "/socket";
    name.copy(address.sun_path, sizeof(address.sun_path) - 1);
    REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
            0);
    machine.link("pipe", "link");
    for (const char* path : {"pipe", "socket", "link", "/dev/zero", "/dev/null", "/dev/tty"}) {
        CAPTURE(path);
        CHECK(error_of([&] { (void)read_file(read_request(path), machine.context); }).code() ==
              ErrorCode::not_a_file);
    }
    CHECK(error_of([&] { (void)read_file(read_request("none"), machine.context); }).code() ==
          ErrorCode::not_found);
    CHECK(error_of([&] { (void)read_file(read_request("pipe", 0, 0), machine.context); }).code() ==
          ErrorCode::invalid_argument);
}

TEST_CASE("files of /proc are read though they say that they are empty")
{
    const Machine machine;
    const auto reply = read_file(read_request("/proc/self/status"), machine.context);
    CHECK(reply.content.starts_with("Name:"));
    CHECK(reply.size == reply.content.size());
    CHECK(reply.total_lines == reply.line_count);
}

TEST_CASE("an unreadable file is a denial, to an ordinary user")
{
    Machine machine;
    ::chmod(machine.base.c_str(), 0755);
    machine.put("secret", "x", 0);
    CHECK(as_nobody([&] { (void)read_file(read_request("secret"), machine.context); }) ==
          "permission_denied");
}

TEST_CASE("a huge sparse file and an endless line cost no memory")
{
    const Machine machine;
    machine.put("sparse", "");
    REQUIRE(::truncate((machine.home + "/sparse").c_str(), 10LL * 1024 * 1024 * 1024) == 0);
    auto reply = read_file(read_request("sparse"), machine.context);
    CHECK(reply.kind == FileKind::binary);
    CHECK(reply.size == 10ULL * 1024 * 1024 * 1024);
    CHECK(reply.sha256.empty());
    CHECK(reply.content.size() == 256);

    machine.put("big", "first\n" + std::string(1'000'000, 'x'));
    REQUIRE(::truncate((machine.home + "/big").c_str(), 2LL * 1024 * 1024 * 1024) == 0);
    reply = read_file(read_request("big", 0, 1), machine.context);
    CHECK(reply.content == "first\n");
    CHECK(reply.totals_partial);
    CHECK(reply.truncated_by == "limit");
    reply = read_file(read_request("big", 1, 1, 1000), machine.context);
    CHECK(reply.content == std::string(1000, 'x'));
    CHECK(reply.truncated_by == "line");
}

TEST_CASE("a cancelled read ends")
{
    Machine machine;
    machine.put("f", "x");
    std::stop_source source;
    source.request_stop();
    const CallContext context{machine.config, machine.session, source.get_token(), {}, {}};
    CHECK(error_of([&] { (void)read_file(read_request("f"), context); }).code() ==
          ErrorCode::cancelled);
}
