#include "tests/unit/server/options/options_bench.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <utility>

using berth::server::tests::Bench;
using berth::server::tests::has;

TEST_CASE("a template is an existing folder by its absolute path, without links")
{
    Bench bench;
    CHECK(bench.make().sessions.template_name.empty());
    const auto real = std::filesystem::canonical(bench.directory).string();
    std::filesystem::create_directories(bench.directory + "/debian");
    std::filesystem::create_symlink("debian", bench.directory + "/link");
    bench.file("");
    const auto give = [&](const std::string& value) {
        bench.given.values["template"] = {.items = {value}, .origin = "flag --template"};
    };
    give(bench.directory + "/link");
    CHECK(bench.make().sessions.template_name == real + "/debian");
    CHECK(bench.make().sessions.asked.contains("template"));
    for (const auto& [value, why] :
         {std::pair<std::string, std::string>{"debian", "it is not an absolute path"},
          {bench.directory + "/none", "No such file or directory"},
          {bench.directory + "/berth.toml", "it is not a folder"},
          {"/a\xff", "it is not an absolute path"}}) {
        give(value);
        CHECK(has(bench.refusal(), "(flag --template): " + why));
    }
    bench.given.only_looks = true; // one that has gone keeps nobody from looking
    CHECK(bench.make().sessions.template_name == "/a\xff");
    bench.given.only_looks = false;
    give(""); // the host's own programs, whatever the file says
    bench.file("template = \"" + bench.directory + "/debian\"\n");
    CHECK(bench.make().sessions.template_name.empty());
    CHECK(bench.make().sessions.asked.contains("template"));
}

TEST_CASE("a template of E2B's is a name, which is looked up there")
{
    Bench bench;
    bench.given.values["backend"] = {.items = {"e2b"}, .origin = "flag --backend"};
    const auto give = [&](const std::string& value) {
        bench.given.values["template"] = {.items = {value}, .origin = "flag --template"};
    };
    for (const std::string name : {"base", "1p0n3dp8tgs2ry0mcn2q", "our-team/desktop_1x2:v1.4"}) {
        give(name);
        CHECK(bench.make().sessions.template_name == name);
    }
    for (const auto& none :
         {bench.directory, std::string("two words"), std::string("a\xff"), std::string(257, 'a')}) {
        give(none);
        CHECK(has(bench.refusal(), "(flag --template): it is not the name of a template of E2B's"));
    }
}
