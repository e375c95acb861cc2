#include "sandbox/base/error.hpp"
#include "sandbox/guest/protection/protected_writes.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

namespace berth::guest::test {

using protocol::Change;

TEST_CASE("a tool that writes a protected file is told so, and refused where the profile says it")
{
    const tests::TemporaryDirectory directory;
    protocol::GuestConfig config;
    config.home = std::filesystem::canonical(directory / "").string();
    protocol::Protection protection{.paths = {"CLAUDE.md", ".mcp.json"}};
    ProtectedBook book(config);
    std::ofstream(config.home + "/CLAUDE.md") << "x";
    ProtectedWrites writes(protection, config);
    writes.judge(config.home + "/notes.md", false);
    writes.judge(config.home + "/CLAUDE.md", false);
    writes.judge(config.home + "/CLAUDE.md", true);
    writes.judge(config.home + "/.mcp.json", true); // and then the patch removed it
    const auto changes = writes.done(book);
    REQUIRE(changes.size() == 2);
    CHECK(changes[0].path == config.home + "/CLAUDE.md");
    CHECK(changes[0].change == Change::created);
    CHECK(changes[1].change == Change::removed);

    protection.refuse = true;
    ProtectedWrites refused(protection, config);
    refused.judge(config.home + "/notes.md", false);
    CHECK_THROWS_AS(refused.judge(config.home + "/CLAUDE.md", true), Error);
    CHECK(refused.done(book).empty());
}

} // namespace berth::guest::test
