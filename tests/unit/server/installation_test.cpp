#include "server/installation.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <optional>
#include <string>

#include <unistd.h>

using berth::server::helper_program;

namespace {

berth::server::Environment with(const std::optional<std::string>& directory)
{
    return [directory](const std::string& name) {
        return name == "BERTH_LIBEXEC_DIR" ? directory : std::nullopt;
    };
}

} // namespace

TEST_CASE("the operator's folder counts, there or not: no other program is taken in its place")
{
    const berth::tests::TemporaryDirectory folder;
    CHECK(helper_program("berth-guest", with(folder.path())) == folder / "berth-guest");
}

TEST_CASE("the helpers of the same build tree are found from the program")
{
    for (const auto& environment : {with(std::nullopt), with("")}) {
        const auto found = helper_program("berth-guest", environment);
        CAPTURE(found);
        CHECK(::access(found.c_str(), X_OK) == 0);
        CHECK(std::filesystem::path(found).is_absolute());
        CHECK(found.find("..") == std::string::npos);
    }
}

TEST_CASE("one that is nowhere is named where an installation has it")
{
    const auto missing = helper_program("berth-nothing", with(std::nullopt));
    CHECK(missing.ends_with("/libexec/berth/berth-nothing"));
}
