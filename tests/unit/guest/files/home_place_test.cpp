#include "sandbox/protocol/messages/transfer.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/guest/files/fixture.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

using namespace berth;
using namespace berth::guest;
using namespace berth::guest::testing;

namespace {

protocol::ExportReply take(const Machine& machine, const std::string& path, bool from_home = true)
{
    const CallContext context{
        machine.context.config, machine.context.session, {}, [](std::string_view /*piece*/) {}, {}};
    protocol::ExportRequest request;
    request.path = path;
    request.max_bytes = 1 << 20;
    request.max_entries = 100;
    request.from_home = from_home;
    return export_files(request, context);
}

void fill(const Machine& machine)
{
    ::mkdir((machine.home + "/tree").c_str(), 0755);
    ::mkdir((machine.home + "/tree/sub").c_str(), 0755);
    machine.put("tree/a.txt", "a");
    machine.put("tree/sub/c.txt", "ccc");
    machine.link("/etc/passwd", "tree/link");
    ::mkfifo((machine.home + "/tree/pipe").c_str(), 0600);
}

} // namespace

TEST_CASE("no link leads to what is taken from the home alone, and what is no file is skipped")
{
    const Machine machine;
    fill(machine);
    machine.link("tree", "here");
    machine.link("/etc", "etc");
    machine.link("loop", "loop");
    ::mkfifo((machine.home + "/pipe").c_str(), 0600);
    const auto check = [&](const std::string& path, const std::string& skipped) {
        CAPTURE(path);
        const auto reply = take(machine, path);
        CHECK(reply.files == 0);
        CHECK(reply.skipped == std::vector<std::string>{skipped});
    };
    check("~/etc", "etc: symbolic link");
    check("~/etc/", "etc: symbolic link");
    check("~/etc/passwd", "etc: symbolic link");
    check("~/etc/pass*", "etc: symbolic link");
    check("~/here/sub/c.txt", "here: symbolic link");
    check("~/here/sub/*.txt", "here: symbolic link");
    check("~/loop", "loop: symbolic link");
    check("~/tree/link", "tree/link: symbolic link");
    check("~/pipe", "pipe: named pipe");
    check("~/e*", "etc: symbolic link");
    for (const std::string path : {"~/none", "~/tree/a.txt/x", "~/tree/a.txt/*", "~/none/*"}) {
        CAPTURE(path);
        CHECK(tests::error_of([&] { (void)take(machine, path); }) == ErrorCode::not_found);
    }
}

TEST_CASE("a pattern of the home that matches folders alone means what is in them")
{
    const Machine machine;
    fill(machine);
    ::mkdir((machine.home + "/tree-2").c_str(), 0755);
    const auto folders = take(machine, "~/tr*");
    CHECK(folders.files == 2);
    CHECK(folders.skipped == std::vector<std::string>{"tree-2: empty directory",
                                                      "tree/link: symbolic link",
                                                      "tree/pipe: named pipe"});
    CHECK(take(machine, "~/tree/s*").files == 1);
    machine.put("tree.txt", "with a file beside them");
    CHECK(take(machine, "~/tr*").files == 1);
    // Who asked by a call is told, and can ask again.
    CHECK(tests::error_of([&] { (void)take(machine, "~/tree/s*", false); }) ==
          ErrorCode::not_found);
}

TEST_CASE("of what is taken from the home alone nothing that has content is left out")
{
    const Machine machine;
    fill(machine);
    ::chmod(machine.base.c_str(), 0755);
    ::chmod(machine.home.c_str(), 0755);
    const auto word = [&](const std::string& path) {
        return as_nobody([&] { (void)take(machine, path); });
    };
    CHECK(word("~/tree").empty()); // its link and its pipe have none
    SUBCASE("a folder that cannot be looked into")
    {
        ::chmod((machine.home + "/tree/sub").c_str(), 0);
        CHECK(word("~/tree") == "permission_denied");
        CHECK(word("~/**/*.none") == "permission_denied");
        CHECK(word("~/tree/sub/*") == "permission_denied");
        CHECK(word("~/tree/*.txt").empty());
        // Who saves by hand is told.
        CHECK(as_nobody([&] { (void)take(machine, "~/tree", false); }).empty());
        ::chmod((machine.home + "/tree/sub").c_str(), 0444); // listed, and no more
        CHECK(word("~/tree") == "permission_denied");
    }
    SUBCASE("a file that cannot be read")
    {
        machine.put("tree/sub/c.txt", "ccc", 0);
        CHECK(word("~/tree") == "permission_denied");
        CHECK(word("~/tree/sub/c.txt") == "permission_denied");
        CHECK(word("~/tree/*.txt").empty());
    }
    SUBCASE("a name that is not UTF-8")
    {
        machine.put("tree/\xff.txt", "x");
        CHECK(word("~/tree") == "invalid_path");
        CHECK(word("~/tree/*.txt") == "invalid_path");
        CHECK(word("~/tree/sub").empty());
    }
    SUBCASE("one that is too deep")
    {
        std::string deep = "tree/";
        for (int i = 0; i < 210; ++i) {
            deep += "d/";
            ::mkdir((machine.home + "/" + deep).c_str(), 0755);
        }
        CHECK(word("~/tree") == "too_large");
    }
    ::chmod((machine.home + "/tree/sub").c_str(), 0755);
}
