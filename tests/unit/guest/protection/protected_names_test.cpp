#include "sandbox/guest/protection/protected_names.hpp"

#include <doctest/doctest.h>

#include <string>

namespace berth::guest::test {

TEST_CASE("protected names: in the home alone, in every folder, all of a folder")
{
    protocol::GuestConfig config;
    config.home = "/home/user";
    config.writable_roots = {"/tmp", "/work/app"};
    const protocol::Protection protection{
        .paths = {"~/.bashrc", "CLAUDE.md", ".git/hooks/", ".github/workflows/"}};
    const auto is = [&](const std::string& path) { return is_protected(path, protection, config); };
    for (const char* path :
         {"/home/user/.bashrc", "/home/user/CLAUDE.md", "/work/app/CLAUDE.md",
          "/work/app/deep/er/CLAUDE.md", "/work/app/.git/hooks/pre-commit",
          "/work/app/sub/.git/hooks/a/b", "/home/user/.github/workflows/ci.yml"}) {
        CAPTURE(path);
        CHECK(is(path));
    }
    for (const char* path :
         {"/home/user/x/.bashrc", "/work/app/.bashrc", "/home/user/NOT-CLAUDE.md", "/home/user",
          "/tmp/CLAUDE.md", "/work/application/CLAUDE.md", "/work/app/.git/hooks",
          "/work/app/.git/hooks/pre-commit.sample", "/work/app/my.git/hooks/pre-commit",
          "/etc/CLAUDE.md"}) {
        CAPTURE(path);
        CHECK_FALSE(is(path));
    }
}

} // namespace berth::guest::test
