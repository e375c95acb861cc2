#include "sandbox/base/error.hpp"
#include "tests/unit/tools/caught.hpp"
#include "tests/unit/tools/schema_validator.hpp"
#include "tools/pdf_text.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

using nlohmann::json;
using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace

namespace {

Result report(const PdfPages& pages, const Settings& settings = {})
{
    berth::protocol::ReadFileReply reply;
    reply.path = "/home/user/a.pdf";
    reply.kind = berth::protocol::FileKind::binary;
    reply.mime_type = "application/pdf";
    reply.size = 12'300;
    auto result = pdf_report(reply, pages, settings);
    auto data = *result.data;
    data["session"] = data["backend"] = "x";
    data["ok"] = true;
    CHECK(test::schema_complaint(find_tool("read_file")->output_schema, data) == "");
    CHECK_NOTHROW((void)json(result.text).dump());
    return result;
}

ReadFile::Args decoded(const json& arguments)
{
    return ReadFile::decode(arguments);
}

std::string refused(json arguments)
{
    arguments["path"] = "a.pdf";
    const auto error = test::caught([&] { (void)decoded(arguments); });
    CHECK(error.code() == berth::ErrorCode::invalid_argument);
    CHECK_FALSE(error.hint().empty());
    return error.what();
}

} // namespace

TEST_CASE("pages of a PDF with their numbers, and how to go on")
{
    auto result = report({.total = 7, .first = 2, .asked = 2, .text = "two\n\n\fthree \xff\n\f"});
    CHECK(result.text == "[PDF, 12.3 KB: pages 2–3 of 7 · next: offset 3]\n"
                         "--- page 2 ---\ntwo\n--- page 3 ---\nthree \xEF\xBF\xBD\n");
    CHECK(result.data->at("kind") == "pdf");
    CHECK(result.data->at("first_line") == 2);
    CHECK(result.data->at("line_count") == 2);
    CHECK(result.data->at("total_lines") == 7);
    CHECK(result.data->at("truncated_by") == "limit");
    result = report({.total = 7, .first = 7, .asked = 20, .text = "end\n\f"});
    CHECK(result.text.find("page 7 of 7]") != std::string::npos);
    CHECK(result.data->at("next_offset") == 0);
    CHECK(report({.total = 7, .first = 9}).text.find("offset 8 is past the end: it has 7 pages") !=
          std::string::npos);
    CHECK(report({.total = 2, .asked = 2, .text = "\f \n\f"}).text.find("the pages are pictures") !=
          std::string::npos);
}

TEST_CASE("where nobody counts the pages, those that came tell whether there are more")
{
    auto result = report({.first = 1, .asked = 2, .text = "a\n\fb\n\f"});
    CHECK(result.text.starts_with("[PDF, 12.3 KB: pages 1–2 · next: offset 2]\n"));
    CHECK(result.data->at("totals_partial") == true);
    result = report({.first = 1, .asked = 3, .text = "a\n\fb\n\f"});
    CHECK(result.data->at("next_offset") == 0);
}

TEST_CASE("whole pages within the budget; one that is too long is cut")
{
    Settings settings;
    settings.read_budget = 40; // a page is 19 characters
    const PdfPages pages{.total = 3, .first = 1, .asked = 20, .text = "aaa\fbbb\fccc\f"};
    auto result = report(pages, settings);
    CHECK(result.data->at("line_count") == 2);
    CHECK(result.data->at("truncated_by") == "budget");
    CHECK(result.data->at("next_offset") == 2);
    settings.read_budget = 17;
    result = report(pages, settings);
    CHECK(result.data->at("truncated_by") == "line");
    CHECK(result.text.find("page 1 is too long and is cut: pdftotext -f 1 -l 1 FILE -") !=
          std::string::npos);
    CHECK(result.text.ends_with("--- page 1 ---\naa\n"));
    CHECK(result.data->at("next_offset") == 1);
    // What arrived of the last page is not all of it.
    result = report({.total = 2, .asked = 2, .text = "a\fb", .cut = true});
    CHECK(result.data->at("line_count") == 1);
    CHECK(result.data->at("next_offset") == 1);
    result = report({.total = 2, .asked = 2, .text = "a", .cut = true, .complaint = "stopped"});
    CHECK(result.data->at("truncated_by") == "line");
    CHECK(result.text.find(" · stopped") != std::string::npos);
}

TEST_CASE("pages are another spelling of offset and limit")
{
    auto args = decoded({{"path", "a"}, {"pages", "2-5"}});
    CHECK(args.pages);
    CHECK(args.offset == 1);
    CHECK(args.limit == 4);
    args = decoded({{"path", "a"}, {"pages", "3"}});
    CHECK(args.offset == 2);
    CHECK(args.limit == 1);
    CHECK_FALSE(decoded({{"path", "a"}}).pages);
    for (const char* bad :
         {"", "0", "-1", "a", "1-", "1-2-3", "1,2", " 1", "01", "+1", "1234567890"}) {
        INFO(bad);
        CHECK(refused({{"pages", bad}}).starts_with("pages: expected a page"));
        CHECK(test::schema_complaint(find_tool("read_file")->input_schema,
                                     {{"path", "a"}, {"pages", bad}}) != "");
    }
    CHECK(refused({{"pages", "5-2"}}) == "pages: the range ends before it begins");
    CHECK(refused({{"pages", "5"}, {"offset", 1}}).starts_with("both pages and offset"));
    CHECK(refused({{"pages", "5"}, {"limit", 1}}).starts_with("both pages and offset"));
}
