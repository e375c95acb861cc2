#include "sandbox/base/base64.hpp"
#include "tests/unit/tools/schema_validator.hpp"
#include "tools/notebook.hpp"
#include "tools/notebook_report.hpp"
#include "tools/tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

using nlohmann::json;
using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace

namespace {

const std::string png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+"
                        "M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

json cell(const json& source, const std::vector<json>& outputs = {})
{
    return {
        {"cell_type", "code"}, {"execution_count", 4},
        {"id", "ab"},          {"metadata", {{"tags", json::array()}, {"text", "of no output"}}},
        {"source", source},    {"outputs", outputs}};
}

json document(const json& cells)
{
    return {{"nbformat", 4},
            {"nbformat_minor", 5},
            {"metadata", {{"language_info", {{"name", "python"}}}}},
            {"cells", cells}};
}

json stream(const std::string& name, const json& text)
{
    return {{"output_type", "stream"}, {"name", name}, {"text", text}};
}

json display(const json& data)
{
    return {{"output_type", "display_data"}, {"data", data}, {"metadata", json::object()}};
}

Result report(const std::vector<json>& cells, const CellRange& range = {0, 2000},
              const Settings& settings = {})
{
    berth::protocol::ReadFileReply reply;
    reply.path = "/home/user/n.ipynb";
    reply.size = 1000;
    reply.sha256 = "1a2b3c4d5e6f7890";
    const auto notebook = parse_notebook(document(cells).dump());
    CHECK(notebook.fault.empty());
    auto result = notebook_report(reply, notebook, range, settings);
    auto data = *result.data;
    data["session"] = data["backend"] = "x";
    data["ok"] = true;
    CHECK(test::schema_complaint(find_tool("read_file")->output_schema, data) == "");
    CHECK_NOTHROW((void)json(result.text).dump());
    return result;
}

} // namespace

TEST_CASE("cells are shown with their source and what they printed")
{
    const auto result = report(
        {json{{"cell_type", "markdown"}, {"source", "# Title"}, {"metadata", json::object()}},
         cell({"a = 1\n", "print(a)"},
              {stream("stdout", {"1\n", "2\n"}), stream("stderr", "careful\n"),
               display({{"text/plain", "'x'"}, {"text/html", "<b>"}})}),
         cell("")});
    CHECK(result.text ==
          "[notebook in python: 3 cells · edit_file takes the text that raw: true shows · sha256 "
          "1a2b3c4d5e6f]\n"
          "--- cell 1 (markdown) ---\n# Title\n"
          "--- cell 2 (code, executed as [4]) ---\na = 1\nprint(a)\n"
          "[stdout]\n1\n2\n[stderr]\ncareful\n[output]\n'x'\n"
          "--- cell 3 (code, executed as [4]) ---\n");
    CHECK(result.data->at("kind") == "notebook");
    CHECK(result.data->at("total_lines") == 3);
    CHECK(result.data->at("next_offset") == 0);
}

TEST_CASE("of a bar in an output its last state is shown")
{
    const json bars = {"  0%|  |\r", " 50%|# |\r", "100%|##|\n", "\x1b[2K\x1b[1Ga\x1b[2K\x1b[1Gb\n",
                       "c\r\n"};
    const auto text = report({cell("x", {stream("stderr", bars)})}).text;
    CHECK(text.find("[stderr]\n100%|##|\nb\nc\r\n") != std::string::npos);
    CHECK(text.find("50%") == std::string::npos);
}

TEST_CASE("an error is its name, its value and its traceback without colours")
{
    const auto result =
        report({cell("x", {json{{"output_type", "error"},
                                {"ename", "NameError"},
                                {"evalue", "no x"},
                                {"traceback", {"\x1b[0;31mNameError\x1b[0m", "line 1"}}}})});
    CHECK(result.text.ends_with("[error: NameError: no x]\nNameError\nline 1\n"));
}

TEST_CASE("long outputs are shortened, and it is said by how much")
{
    std::string numbers;
    for (int i = 0; i < 5000; ++i) {
        numbers += std::to_string(i) + "\n";
    }
    const auto text = report({cell("x", {stream("stdout", numbers)})}).text;
    CHECK(text.size() < 2500);
    CHECK(text.find("\n0\n1\n") != std::string::npos);
    CHECK(text.find("left out ...]\n") != std::string::npos);
    CHECK(text.ends_with("\n4999\n"));
}

TEST_CASE("pictures of outputs are shown, other forms named where there is no text")
{
    const auto result = report(
        {cell("a", {display({{"image/png", png + "\n"}, {"text/plain", "<Figure size 1x1>"}}),
                    display({{"application/vnd.x+json", {{"data", {1, 2, {3}}}}}}),
                    display({{"image/svg+xml", {"<svg>", "</svg>"}}}),
                    display({{"image/png", "AAAA"}}), display({{"image/png", "%"}}),
                    display({{"text/markdown", "*m*"}, {"text/plain", "<Markdown>"}})})});
    REQUIRE(result.images.size() == 1);
    CHECK(result.images[0].data == berth::base64_decode(png).value());
    CHECK(result.images[0].mime_type == "image/png");
    CHECK(result.text.find("[output]\n[picture 1 below: image/png, 70 bytes]\n[output]\n"
                           "[application/vnd.x+json: not shown, raw: true has it]\n[output]\n"
                           "[image/svg+xml: not shown, raw: true has it]\n[output]\n"
                           "[image/png, 3 bytes: not shown, it is damaged or cut off]\n[output]\n"
                           "[image/png: not shown, its base64 is damaged]\n[output]\n*m*\n") !=
          std::string::npos);
    Settings settings;
    settings.read_image = 100; // one of them
    const auto few =
        report({cell("a", {display({{"image/png", png}}), display({{"image/png", png}})}),
                cell("b", {display({{"image/png", png}})})},
               {0, 9}, settings);
    CHECK(few.images.size() == 1);
    CHECK(few.text.find("too many or too large pictures") != std::string::npos);
    std::vector<json> many;
    for (int i = 0; i < 12; ++i) {
        many.push_back(display({{"image/png", png}}));
    }
    CHECK(report({cell("a", many)}).images.size() == 10);
}

TEST_CASE("offset and limit count cells, also from the end; the budget keeps whole cells")
{
    std::vector<json> cells;
    for (int i = 1; i <= 9; ++i) {
        cells.push_back(json{{"cell_type", "raw"}, {"source", "s" + std::to_string(i)}});
    }
    auto result = report(cells, {2, 3});
    CHECK(result.text.find("cells 3–5 of 9 · next: offset 5") != std::string::npos);
    CHECK(result.text.find("--- cell 3 (raw) ---\ns3\n") != std::string::npos);
    CHECK(result.data->at("truncated_by") == "limit");
    CHECK(result.data->at("first_line") == 3);
    CHECK(result.data->at("line_count") == 3);
    result = report(cells, {-2, 1});
    CHECK(result.text.find("cell 8 of 9 · next: offset 8") != std::string::npos);
    CHECK(report(cells, {-2, 9}).data->at("next_offset") == 0);
    CHECK(report(cells, {9, 9}).text.find("offset 9 is past the end: it has 9 cells") !=
          std::string::npos);
    CHECK(report({}).text.starts_with("[notebook in python: no cells · "));

    Settings settings;
    settings.read_budget = 60; // a cell is 24 characters
    result = report(cells, {0, 9}, settings);
    CHECK(result.data->at("line_count") == 2);
    CHECK(result.data->at("truncated_by") == "budget");
    CHECK(result.data->at("next_offset") == 2);
    settings.read_budget = 20;
    result = report(cells, {3, 9}, settings);
    CHECK(result.data->at("truncated_by") == "line");
    CHECK(result.data->at("next_offset") == 4);
    CHECK(result.text.find(
              "cell 4 is too long and was cut: these are its first 20 of 24 characters") !=
          std::string::npos);
}

TEST_CASE("what is no notebook is told as that, and costs little")
{
    CHECK(parse_notebook("").fault.find("not valid JSON") != std::string::npos);
    CHECK(parse_notebook("{\"cells\": [").fault.find("at byte 1") != std::string::npos);
    CHECK(parse_notebook("\xff").fault.find("not valid JSON") != std::string::npos);
    CHECK(parse_notebook("[]").fault == "it has no list of cells");
    CHECK(parse_notebook("7").fault == "it has no list of cells");
    CHECK(parse_notebook("\"cells\"").fault == "it has no list of cells");
    CHECK(parse_notebook(R"({"cells": {}})").fault == "it has no list of cells");
    CHECK(parse_notebook(R"({"worksheets": [{"cells": []}]})").fault == "it has no list of cells");
    CHECK(parse_notebook(std::string(5'000'000, '[')).fault == "it is nested deeper than 64");
    CHECK(parse_notebook("{\"cells\":" + std::string(100, '[')).fault ==
          "it is nested deeper than 64");
    std::string many = "{\"cells\":[{}";
    for (int i = 0; i < 30'000; ++i) {
        many += ",{}";
    }
    CHECK(parse_notebook(many + "]}").fault == "it has too many cells or outputs");
    many = "{\"cells\":[{\"outputs\":[{}";
    for (int i = 0; i < 60'000; ++i) {
        many += ",{}";
    }
    CHECK(parse_notebook(many + "]}]}").fault == "it has too many cells or outputs");
}

TEST_CASE("things in the wrong place are no cells, whatever they are called")
{
    const auto fault_free = [](const char* text) {
        const auto notebook = parse_notebook(text);
        CHECK(notebook.fault.empty());
        return notebook.cells;
    };
    CHECK(fault_free(R"({"cells[].outputs[]": {"text": "x"}, "cells": []})").empty());
    CHECK(fault_free(R"({"cells[]": {"source": "x"}, "cells": []})").empty());
    CHECK(fault_free(R"({"cells": [[{"source": "x"}], "source", 3, null]})").empty());
    const auto odd = fault_free(
        R"({"cells": [{"source": {"source": "x"}, "outputs": {"text": "y"}, "cell_type": 3}]})");
    REQUIRE(odd.size() == 1);
    CHECK(odd[0].source.empty());
    CHECK(odd[0].outputs.empty());
    const auto later = fault_free(
        R"({"cells": [{"outputs": [{"data": {"a[]": 1}}]}, {"outputs": [[{"text": "y"}], "z"]}]})");
    REQUIRE(later.size() == 2);
    CHECK(later[1].outputs.empty());
}
