#include "sandbox/base/error.hpp"
#include "sandbox/local/programs.hpp"
#include "sandbox/local/template_rules.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

using namespace berth;
using namespace berth::local;
using berth::local::test::TemporaryTree;

namespace {

std::string refusal(const std::string& directory, const std::vector<sandbox::Mount>& mounts = {},
                    const std::vector<OwnFolder>& own = {})
{
    try {
        check_template(directory, mounts, own);
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK_FALSE(error.hint().empty());
        return error.what();
    }
    return {};
}

bool has(const std::string& text, const std::string& part)
{
    CAPTURE(text);
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_SUITE("local/template_rules")
{
    TEST_CASE("a template is a folder, by its real path, and none of berth's or the kernel's")
    {
        const TemporaryTree tree;
        tree.add("root/usr/bin/bash", "");
        tree.add_directory("state/sessions");
        std::filesystem::create_symlink("root", tree.path() + "/link");
        const auto at = [&](const std::string& name) { return tree.path() + "/" + name; };
        const std::vector<OwnFolder> own{{at("state"), "--state-dir"}};
        CHECK(refusal(at("root"), {}, own).empty());
        CHECK(has(refusal(at("none")), "template " + at("none") + ": No such file"));
        CHECK(has(refusal(at("link")), "reached through a symbolic link"));
        CHECK(has(refusal(at("link/usr")), "reached through a symbolic link"));
        CHECK(has(refusal(at("root/usr/bin/bash")), "is not a folder"));
        CHECK(has(refusal("/proc"), "of the kernel"));
        for (const auto& bad : {tree.path(), at("state"), at("state/sessions")}) {
            CHECK(has(refusal(bad, {}, own), "contains or lies in berth's own folder"));
        }
    }

    TEST_CASE("no writable mount shows it, or a part of it")
    {
        const TemporaryTree tree;
        tree.add("root/usr/bin/bash", "");
        tree.add_directory("beside");
        const auto root = tree.path() + "/root";
        for (const auto& source : {root, root + "/usr", tree.path()}) {
            CHECK(has(refusal(root, {{source, "/mnt/it", true}}), "could be changed from inside"));
            CHECK(refusal(root, {{source, "/mnt/it", false}}).empty());
        }
        CHECK(refusal(root, {{tree.path() + "/beside", "/mnt/it", true}}).empty());
    }

    TEST_CASE("of root it is root's own, and so are the folders above it")
    {
        const TemporaryTree tree;
        tree.add("above/root/usr/bin/bash", "");
        const auto above = tree.path() + "/above";
        const auto root = above + "/root";
        const bool matters = ::geteuid() == 0;
        CHECK(refusal(root).empty()); // though below /tmp, where others may add but not replace
        for (const auto& path : {root, root + "/usr", above}) {
            CAPTURE(path);
            ::chmod(path.c_str(), 0757);
            CHECK(has(refusal(root), "by everybody") == matters);
            ::chmod(path.c_str(), 0775);
            CHECK(refusal(root).empty()); // the group is root's
            if (matters) {
                REQUIRE(::chown(path.c_str(), 0, 54321) == 0);
                CHECK(has(refusal(root), path + " may be written to by the group 54321"));
                ::chmod(path.c_str(), 0755);
                CHECK(refusal(root).empty());
                REQUIRE(::chown(path.c_str(), 54321, 0) == 0);
                CHECK(has(refusal(root), "by uid 54321, its owner"));
                REQUIRE(::chown(path.c_str(), 0, 0) == 0);
            }
            ::chmod(path.c_str(), 0755);
        }
        // The sticky bit keeps a folder in it from being replaced, not files from being added to
        // it.
        ::chmod(above.c_str(), 01777);
        CHECK(refusal(root).empty());
        ::chmod(root.c_str(), 01777);
        CHECK(has(refusal(root), "by everybody") == matters);
    }

    TEST_CASE("a template is looked at for each machine, and told by the machine's own word")
    {
        const TemporaryTree tree;
        tree.add("root/bin/bash", "");
        tree.add_directory("state");
        const auto root = tree.path() + "/root";
        ::chmod((root + "/bin/bash").c_str(), 0755);
        ProgramFinder finder(tree.path() + "/state", "", "/run/berth");
        const auto host = finder.find("", {});
        CHECK(host == finder.find("", {}));
        const auto first = finder.find(root, {});
        CHECK(first != host);
        CHECK(first == finder.find(root, {}));
        tree.add("root/etc/later", "");
        CHECK(first != finder.find(root, {}));
        std::filesystem::remove(root + "/bin/bash");
        try {
            (void)finder.find(root, {});
            FAIL("it was taken");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::sandbox_unavailable);
            CHECK(has(error.what(), "no sandbox can be made: template " + root + ": /bin/bash"));
        }
    }
}
