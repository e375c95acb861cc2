#include "sandbox/base/error.hpp"
#include "tests/unit/tools/caught.hpp"
#include "tests/unit/tools/schema_validator.hpp"
#include "tools/archive_listing.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace

namespace {

berth::protocol::ReadFileReply archive()
{
    berth::protocol::ReadFileReply reply;
    reply.path = "/home/user/a.zip";
    reply.kind = berth::protocol::FileKind::binary;
    reply.mime_type = "application/zip";
    reply.size = 12'300;
    reply.sha256 = "1a2b3c4d5e6f7890";
    return reply;
}

Result report(std::string_view listing, const ReadFile::Args& args = {}, bool whole = true,
              std::string_view complaint = {}, const Settings& settings = {})
{
    auto result = listing_report(archive(), listing, whole, complaint, args, settings);
    auto data = *result.data;
    data["session"] = data["backend"] = "x";
    data["ok"] = true;
    CHECK(test::schema_complaint(find_tool("read_file")->output_schema, data) == "");
    return result;
}

} // namespace

TEST_CASE("an archive is its entries, a page of them")
{
    auto result = report(" 1  a\n 2  b\n 3  c\n");
    CHECK(result.text ==
          "[application/zip, 12.3 KB: 3 entries · sha256 1a2b3c4d5e6f]\n 1  a\n 2  b\n 3  c\n");
    CHECK(result.data->at("kind") == "archive");
    CHECK(result.data->at("total_lines") == 3);
    result = report(" 1  a\n 2  b\n 3  c\n", {.offset = 1, .limit = 1});
    CHECK(result.text == "[application/zip, 12.3 KB: entry 2 of 3 · next: offset 2 · sha256 "
                         "1a2b3c4d5e6f]\n 2  b\n");
    CHECK(result.data->at("truncated_by") == "limit");
    result = report(" 1  a\n 2  b\n 3  c\n", {.offset = -1});
    CHECK(result.data->at("first_line") == 3);
    CHECK(result.data->at("next_offset") == 0);
    CHECK(report("a\n", {.offset = 4}).text.find("offset 4 is past the end: it has 1 entry") !=
          std::string::npos);
    CHECK(report("").text.find(": no entries") != std::string::npos);
}

TEST_CASE("names in a listing cannot pose as lines, and the budget keeps whole ones")
{
    CHECK(report("a\x1b[31m\xe2\x80\xae\xff\n").text.ends_with("]\na\\x1b[31m\\u202e\\xff\n"));
    Settings settings;
    settings.read_budget = 8;
    auto result = report("aaa\nbbb\nccc\n", {}, true, {}, settings);
    CHECK(result.data->at("line_count") == 2);
    CHECK(result.data->at("truncated_by") == "budget");
    settings.read_budget = 1; // a page of no entry would have no next one
    CHECK(report("aaa\nbbb\n", {}, true, {}, settings).data->at("line_count") == 1);
}

TEST_CASE("a listing that does not reach the end says so")
{
    const auto result = report("a\nb\nhalf", {}, false, "exit 2: broken");
    CHECK(result.text.find("entries 1–2 of at least 2 · exit 2: broken") != std::string::npos);
    CHECK(result.text.ends_with("\na\nb\n"));
    CHECK(result.data->at("totals_partial") == true);
    CHECK(test::caught([] { (void)report("a\nb\n", {.offset = -1}, false); }).code() ==
          berth::ErrorCode::too_large);
}

TEST_CASE("what is an archive")
{
    for (const char* type : {"application/zip", "application/x-tar", "application/gzip",
                             "application/zstd", "application/x-7z-compressed"}) {
        CHECK(is_archive(type));
    }
    CHECK_FALSE(is_archive(""));
    CHECK_FALSE(is_archive("application/pdf"));
}
