#include "sandbox/guest/files/nearest_lines.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <stop_token>
#include <vector>

using namespace berth;
using namespace berth::guest;
using namespace berth::guest::testing;

namespace {

std::vector<NearLines> near_in(const Machine& machine, const std::string& content,
                               const std::string& text)
{
    machine.put("near", content);
    const UniqueFd file(::open((machine.home + "/near").c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(file.valid());
    const Document document(file.get(), content.size(), "near", machine.context);
    return nearest_lines(document, text);
}

std::string numbered(const std::string& what, int count)
{
    std::string lines;
    for (int i = 1; i <= count; ++i) {
        lines += what + std::to_string(i) + "\n";
    }
    return lines;
}

struct NearRow {
    const char* what;
    std::string content;
    std::string text;
    std::uint64_t line;
    std::uint64_t first_difference;
    unsigned percent; ///< at least
    const char* difference;
    const char* actual;
};

const std::string greek = "alpha one();\nbeta two();\ngamma three();\ndelta four();\n";

} // namespace

TEST_CASE("the nearest place is the one with most lines of the text, whichever these are")
{
    const Machine machine;
    for (const NearRow& row : std::vector<NearRow>{
             {"lines that the file has not", "int main() {\n    return compute(1);\n}\n",
              "int main() {\n    log();\n    return compute(1);\n    // more\n}\n", 1, 2, 60,
              "has not in front of it the text's line 2, `    log();`", "    return compute(1);"},
             {"a line in front of the first", greek,
              "something else\nalpha one();\nbeta two();\ngamma three();", 1, 1, 75,
              "has not in front of it the text's line 1, `something else`", "alpha one();"},
             {"another first line", "x\n" + greek,
              "something else\nalpha one();\nbeta two();\ngamma three();", 1, 1, 75,
              "differs in the text", "x"},
             {"the longest line is made up", greek,
              "alpha one();\nthis is by far the longest line of all();\ngamma three();\n", 1, 2, 66,
              "differs in the text", "beta two();"},
             {"a line that the text has not", greek, "alpha one();\ngamma three();\n", 1, 2, 85,
              "is not in the text", "beta two();"},
             {"the last line is another", numbered("line number ", 12),
              "line number 5\nline number 6\nline nomber sevn", 5, 7, 80, "differs in the text",
              "line number 7"},
             {"the second of two alike", "f() {\n  a();\n}\ng() {\n  a();\n}\n",
              "g() {\n  a();\n  b();\n}\n", 4, 6, 75,
              "has not in front of it the text's line 3, `  b();`", "}"},
             {"far down", numbered("row ", 5000) + greek + numbered("row ", 5000),
              "beta two();\nnothing of the sort is there\ndelta four();\n", 5002, 5003, 66,
              "differs in the text", "gamma three();"},
             {"all braces, and one that tells", numbered("}\nif (x) {\n}\n", 300) + "tell();\n}\n",
              "}\n}\ntell();\n", 1199, 1200, 66, "differs in the text", "300"},
             {"another depth", "    alpha();\n    beta();\n", "alpha();\nbeta();\n", 1, 2, 99,
              "differs in the number of blanks", "    beta();"},
             {"behind its end", greek, "delta four();\nepsilon\n", 4, 5, 50,
              "differs in being there: the file has ended", ""},
         }) {
        CAPTURE(row.what);
        const auto near = near_in(machine, row.content, row.text);
        REQUIRE_FALSE(near.empty());
        CHECK(near.size() <= 3);
        CHECK(near[0].line == row.line);
        CHECK(near[0].first_difference == row.first_difference);
        CHECK(near[0].percent >= row.percent);
        CHECK(near[0].percent < 100);
        CHECK(near[0].difference == row.difference);
        CHECK(near[0].actual == row.actual);
    }
}

TEST_CASE("lines of the text that are far from each other are no place for it")
{
    const Machine machine;
    const std::string apart = "alpha one();\n" + numbered("row ", 500) + "delta four();\n";
    CHECK(near_in(machine, apart, "alpha one();\nbeta two();\ngamma three();\ndelta four();\n")
              .empty());
    CHECK(near_in(machine, "}\n\n}\n", "something else();\n}\nreturn to_it;\n").empty());
}

TEST_CASE("each place is named once, of equals those further up")
{
    const Machine machine;
    std::string content;
    for (int i = 0; i < 6; ++i) {
        content += greek + numbered("other " + std::to_string(i), 60);
    }
    const auto near = near_in(machine, content, "beta two();\ngamma three();\nno such line\n");
    REQUIRE(near.size() == 3);
    CHECK(near[0].line == 2);
    CHECK(near[1].line == 66);
    CHECK(near[2].line == 130);
}

TEST_CASE("a text of the same line again and again is looked for in many of them")
{
    const Machine machine;
    std::string braces;
    std::string text;
    for (int i = 0; i < 300'000; ++i) {
        braces += "}\n";
        text += i < 199 ? "}\n" : "";
    }
    const auto near = near_in(machine, braces, text + "end\n");
    REQUIRE_FALSE(near.empty());
    CHECK(near[0].line == 1);
    CHECK(near[0].first_difference == 200);
}

TEST_CASE("who stops the call stops the look for what is near")
{
    Machine machine;
    std::stop_source stop;
    machine.context.stop = stop.get_token();
    stop.request_stop();
    CHECK_THROWS(near_in(machine, greek, "beta two();\nno such line\n"));
}
