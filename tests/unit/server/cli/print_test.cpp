#include "server/cli/print.hpp"
#include "tests/unit/captured.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

#include <unistd.h>

using namespace berth::server; // NOLINT(google-build-using-namespace): the subject of the test
using berth::tests::captured;

TEST_CASE("columns are as wide as their widest cell, the last one is not padded")
{
    CHECK(cli::table({{"a", "bb", "c"}, {"ääää", "", "d"}}) == "a     bb  c\nääää      d\n");
    CHECK(cli::table({{"one"}, {"a", "b"}}) == "one\na    b\n");
    CHECK(cli::table({}).empty());
    // Wide as it is shown, of whatever is in it.
    CHECK(cli::table({{"\u009b", "a\nb"}, {"c", "d"}}) == "\\u009b  a\\x0ab\nc       d\n");
}

TEST_CASE("text of a sandbox cannot leave its line")
{
    const auto line = cli::one_line("a\nb\x1b[31m\xff\u202e");
    CHECK(line.find('\n') == std::string::npos);
    CHECK(line.find('\x1b') == std::string::npos);
    CHECK(line.find("\u202e") == std::string::npos);
    CHECK(line.starts_with("a"));
    CHECK(cli::one_line(std::string(1000, 'x')).size() < 200);
    CHECK(cli::one_line(std::string(1000, 'x')).ends_with("x…"));
    CHECK(cli::one_line("sleep 5") == "sleep 5");
}

TEST_CASE("what is printed ends with one line end")
{
    CHECK(captured(STDOUT_FILENO, [] { cli::print("a"); }) == "a\n");
    CHECK(captured(STDOUT_FILENO, [] { cli::print("a\n"); }) == "a\n");
    CHECK(captured(STDOUT_FILENO, [] { cli::print(""); }).empty());
    CHECK(captured(STDOUT_FILENO, [] { cli::print_json({{"a", "\xff"}}); }) ==
          "{\n  \"a\": \"\uFFFD\"\n}\n");
    CHECK(captured(STDOUT_FILENO, [] {
              cli::print_json({{"é", "\u009b2J\x7f\u202e\U000e0041"}});
          }) == "{\n  \"é\": \"\\u009b2J\\u007f\\u202e\\udb40\\udc41\"\n}\n");
}

TEST_CASE("a complaint says who complains, and what to do on a line of its own")
{
    CHECK(captured(STDERR_FILENO, [] { cli::complain("no", "Do this."); }) ==
          "berth: no\nDo this.\n");
    CHECK(captured(STDERR_FILENO, [] { cli::complain("no"); }) == "berth: no\n");
    CHECK(captured(STDERR_FILENO, [] { cli::complain("\u009b2J", "\u009d"); }) ==
          "berth: \\u009b2J\n\\u009d\n");
    CHECK(captured(STDERR_FILENO, [] { cli::complain("no \x1b[2J\n  \u202egnp", "a\n  b\r"); }) ==
          "berth: no \\x1b[2J\n  \\u202egnp\na\n  b\\x0d\n");
}
