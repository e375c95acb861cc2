#include "tests/unit/guest/files/fixture.hpp"

#include <vector>

using namespace berth;
using namespace berth::guest;
using namespace berth::guest::testing;
using namespace std::string_literals;
using protocol::Edit;

namespace {

protocol::EditFileReply edit(const Machine& machine, std::vector<Edit> edits)
{
    protocol::EditFileRequest request;
    request.path = "f";
    request.edits = std::move(edits);
    request.diff_budget = 100'000;
    return edit_file(request, machine.context);
}

Error edit_error(const Machine& machine, std::vector<Edit> edits)
{
    return error_of([&] { (void)edit(machine, std::move(edits)); });
}

protocol::WriteFileRequest append_request(std::string content,
                                          protocol::Encoding encoding = protocol::Encoding::text)
{
    protocol::WriteFileRequest request;
    request.path = "f";
    request.content = std::move(content);
    request.mode = protocol::WriteMode::append;
    request.encoding = encoding;
    return request;
}

} // namespace

TEST_CASE("UTF-16 and UTF-32 are neither edited nor appended to as UTF-8")
{
    struct Row {
        std::string content, encoding, iconv;
    };

    const Row rows[] = {
        {"\xff\xfe"
         "a\0;\0b\0\n\0"s,
         "UTF-16LE", "iconv -f UTF-16 -t UTF-8"},
        {"\xfe\xff\0a\0;\0b\0\n"s, "UTF-16BE", "iconv -f UTF-16 -t UTF-8"},
        {"\xff\xfe"s, "UTF-16LE", "iconv -f UTF-16 -t UTF-8"},
        {"\xfe\xff"s, "UTF-16BE", "iconv -f UTF-16 -t UTF-8"},
        {"\xff\xfe\0\0;\0\0\0"s, "UTF-32LE", "iconv -f UTF-32 -t UTF-8"},
        {"\0\0\xfe\xff\0\0\0;"s, "UTF-32BE", "iconv -f UTF-32 -t UTF-8"},
    };
    const Machine machine;
    for (const Row& row : rows) {
        CAPTURE(row.encoding);
        machine.put("f", row.content);
        for (const Edit& one : {Edit{";", ", "}, Edit{"", "x"}, Edit{"not there", "x"}}) {
            const Error error = edit_error(machine, {one});
            CHECK(error.code() == ErrorCode::unsupported);
            CHECK(std::string(error.what()).find(row.encoding) != std::string::npos);
            CHECK(error.hint().find(row.iconv) != std::string::npos);
        }
        const Error error =
            error_of([&] { (void)write_file(append_request("more\n"), machine.context); });
        CHECK(error.code() == ErrorCode::unsupported);
        CHECK(machine.get("f") == row.content);
        // Who sends bytes knows what they are.
        (void)write_file(append_request("m\0"s, protocol::Encoding::bytes), machine.context);
        CHECK(machine.get("f") == row.content + "m\0"s);
    }
    machine.put("f", "");
    (void)write_file(append_request("a\n"), machine.context);
    (void)write_file(append_request("b\n"), machine.context);
    CHECK(machine.get("f") == "a\nb\n");
}

TEST_CASE("each edit takes the line ends and the mark that the one before left")
{
    struct Row {
        std::string before;
        std::vector<Edit> edits;
        std::string after;
    };

    const Row rows[] = {
        {"one\r\ntwo\r\n", {{"\r\n", "\n", true}, {"one\ntwo", "1\n2"}}, "1\n2\n"},
        {"one\ntwo\n", {{"\n", "\r\n", true}, {"one\ntwo", "1\n2"}}, "1\r\n2\r\n"},
        {"a\r\nb\n", {{"b\n", "b\r\n"}, {"a\nb\n", "c\n"}}, "c\r\n"},
        {"", {{"", "a\r\nb\r\n"}, {"a\nb\n", "c\nd\n"}}, "c\r\nd\r\n"},
        {"x", {{"x", "\xef\xbb\xbfx"}, {"x", "\xef\xbb\xbfy"}}, "\xef\xbb\xbfy"},
    };
    const Machine machine;
    for (const Row& row : rows) {
        CAPTURE(row.before);
        machine.put("f", row.before);
        CHECK_NOTHROW((void)edit(machine, row.edits));
        CHECK(machine.get("f") == row.after);
    }
}

TEST_CASE("a file that is only a byte order mark is empty, and the mark stays")
{
    const std::string mark = "\xef\xbb\xbf";
    const Machine machine;
    for (const std::string& text : {"a\n"s, mark + "a\n"}) {
        machine.put("f", mark);
        CHECK_NOTHROW((void)edit(machine, {{"", text}}));
        CHECK(machine.get("f") == mark + "a\n");
    }
    CHECK(edit_error(machine, {{"", "x"}}).code() == ErrorCode::invalid_argument);
    for (const Edit& one : {Edit{mark, ""}, Edit{mark + "a", "a"}}) {
        const Error error = edit_error(machine, {one});
        CHECK(error.code() == ErrorCode::unsupported);
        CHECK(std::string(error.what()).find("byte order mark") != std::string::npos);
        CHECK(error.hint().find("sed -i") != std::string::npos);
    }
    CHECK(machine.get("f") == mark + "a\n");
}

TEST_CASE("places that overlap are more than one place")
{
    const Machine machine;

    struct Row {
        std::string content, text;
    };

    const Row rows[] = {{"aaa", "aa"},
                        {"xaaay", "aa"},
                        {"\nababa", "aba"},
                        {std::string(262'142, 'x') + "aaa", "aa"}};
    for (const auto& [content, text] : rows) {
        CAPTURE(text);
        machine.put("f", content);
        const Error error = edit_error(machine, {{text, "b"}});
        CHECK(error.code() == ErrorCode::ambiguous_match);
        CHECK(error.details().at("count") == "2");
        CHECK(std::string(error.what()).find("at least 2 times, overlapping") != std::string::npos);
        CHECK(machine.get("f") == content);
    }
    machine.put("f", "aaa");
    CHECK(edit(machine, {{"aa", "b", true}}).replacements == 1);
    CHECK(machine.get("f") == "ba");
}

TEST_CASE("a diff of line ends says what it is")
{
    const Machine machine;
    machine.put("f", "a\r\nb\r\n");
    CHECK(edit(machine, {{"\r\n", "\n", true}})
              .diff.find("@@ -1,2 +1,2 @@ line ends: CRLF to LF\n") != std::string::npos);
    CHECK(edit(machine, {{"a\n", "a\r\n"}}).diff.find("@@ -1,2 +1,2 @@ line ends: LF to CRLF\n") !=
          std::string::npos);
    CHECK(edit(machine, {{"b\n", "c\n"}}).diff.find(" @@\n") != std::string::npos);
}
