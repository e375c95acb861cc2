#include "sandbox/session/within_reach.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using berth::sandbox::Mount;
using berth::session::writable_part;

namespace {

namespace fs = std::filesystem;

struct Place {
    berth::tests::TemporaryDirectory directory;
    std::string root = fs::canonical(directory / "");
    std::vector<Mount> mounts;

    Place()
    {
        fs::create_directory(at("in"));
        fs::create_directory(at("in/deep"));
        fs::create_directory(at("out"));
        std::ofstream(at("out/file")) << "x";
        mounts = {{at("in"), "/mnt/in", true}, {at("out"), "/mnt/out", false}};
    }

    std::string at(const std::string& path) const { return root + '/' + path; }

    std::string part(const std::string& path) const { return writable_part(at(path), mounts); }
};

} // namespace

TEST_SUITE("session/within_reach")
{
    TEST_CASE_FIXTURE(Place, "what is below a writable mount, there already or not")
    {
        CHECK(part("in/file") == at("in/file"));
        CHECK(part("in/not/there/yet") == at("in/not"));
        CHECK(part("in/deep/../../out/file") == at("in/deep"));
        CHECK(part("out/file").empty()); // read-only
        CHECK(part("inside").empty());   // a name that begins alike
    }

    TEST_CASE_FIXTURE(Place, "a file that is itself mounted")
    {
        mounts = {{at("out/file"), "/mnt/file", true}};
        CHECK(part("out/file") == at("out/file"));
        CHECK(part("out/other").empty());
    }

    TEST_CASE_FIXTURE(Place, "links on the way, and what they lead to")
    {
        fs::create_symlink(at("out/file"), at("in/link"));
        CHECK(part("in/link") == at("in/link")); // it could be another one
        fs::create_symlink(at("in/deep"), at("out/way"));
        CHECK(part("out/way/file") == at("in/deep"));
        fs::create_symlink("../out", at("out/up"));
        CHECK(part("out/up/file").empty());
        CHECK(part("out/up/way/file") == at("in/deep"));
        fs::create_symlink("../in/target", at("out/relative"));
        CHECK(part("out/relative") == at("in/target"));
    }

    TEST_CASE_FIXTURE(Place, "links in a circle lead nowhere, and that is seen")
    {
        fs::create_symlink("b", at("out/a"));
        fs::create_symlink("a", at("out/b"));
        CHECK(part("out/a/file").empty());
    }
}
