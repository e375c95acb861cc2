#include "sandbox/workspace/area.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

using namespace berth;
using tests::error_of;
using tests::TemporaryDirectory;
using workspace::make_area;
using workspace::open_area;

namespace {

/// Whether nothing is read or written there.
void expect_refusal(const std::string& root)
{
    CHECK(error_of([&] { (void)open_area(root, "ann"); }) == ErrorCode::permission_denied);
    CHECK(error_of([&] { (void)make_area(root, "ann"); }) == ErrorCode::permission_denied);
}

} // namespace

TEST_CASE("a workspace's folder where others may write, or of another user, is refused")
{
    const TemporaryDirectory directory;
    const std::string root = directory / "workspace";
    REQUIRE(make_area(root, "ann").files);
    REQUIRE(open_area(root, "ann").files);
    for (const mode_t mode : {0770U, 0707U, 01777U}) {
        CAPTURE(mode);
        REQUIRE(::chmod(root.c_str(), mode) == 0);
        expect_refusal(root);
    }
    REQUIRE(::chmod(root.c_str(), 0755) == 0);
    CHECK(open_area(root, "ann").files);
    if (::geteuid() == 0) { // nobody else can give it away
        REQUIRE(::chown(root.c_str(), 65534, 65534) == 0);
        expect_refusal(root);
    }
}

TEST_CASE("a file where the workspace shall be is named")
{
    const TemporaryDirectory directory;
    const std::string root = directory / "file";
    std::ofstream(root) << "x";
    for (const auto& look : {open_area, make_area}) {
        std::string said;
        try {
            (void)look(root, "ann");
        } catch (const Error& error) {
            said = error.what();
        }
        CHECK(said.find(root) != std::string::npos);
        CHECK(said.find("is a file") != std::string::npos);
    }
}
