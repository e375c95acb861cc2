#include "sandbox/local/local_machine.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace berth::local;
using berth::tests::TemporaryDirectory;

namespace {

std::vector<std::string> replaced(const std::string& source, const std::string& id)
{
    MachineFacts facts;
    facts.mounts = {{source, id}, {source, id}}; // to two targets
    return make_machine(to_record("m", "g", facts))->replaced_mounts();
}

} // namespace

TEST_CASE("a mount's source that is renamed, replaced or deleted is told")
{
    const TemporaryDirectory host;
    const std::string source = host / "data";
    std::filesystem::create_directory(source);
    const std::string id = file_id(source);
    REQUIRE_FALSE(id.empty());
    CHECK(replaced(source, id).empty());
    std::filesystem::rename(source, host / "old"); // its number stays in use
    CHECK(replaced(source, id) == std::vector{source});
    std::filesystem::create_directory(source);
    CHECK(replaced(source, id) == std::vector{source});
    std::filesystem::remove(source);
    std::filesystem::rename(host / "old", source);
    CHECK(replaced(source, id).empty());
}

TEST_CASE("no mount is looked at that need not be on a local disk")
{
    const TemporaryDirectory host;
    CHECK(file_id("/proc/self") == ""); // stands for every file system that is not known
    CHECK(file_id(host / "missing") == "");
    CHECK(replaced(host / "missing", "").empty()); // else it would be told as deleted
}
