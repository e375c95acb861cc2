#include "sandbox/local/covers.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <filesystem>

using namespace berth::local;
using berth::local::test::TemporaryTree;

namespace {

class Host {
  public:
    Host() { tree_.add("opt/service/state/file", ""); }

    [[nodiscard]] std::string at(const std::string& name) const { return tree_.path() + name; }

    [[nodiscard]] Covers covers() const
    {
        return {{{.source = at("/opt"), .target = "/opt", .optional = true}},
                {.folders = {at("/opt/service/state"), at("/elsewhere")}, .home = ""}};
    }

  private:
    TemporaryTree tree_;
};

} // namespace

TEST_CASE("a machine is begun with what was found last, and finished when that is so still")
{
    const Host host;
    Covers covers = host.covers();
    const auto begun = covers.begin();
    REQUIRE(begun.covers.size() == 1);
    CHECK(begun.covers.front().target == "/opt/service/state");
    CHECK_NOTHROW(covers.require(begun));
    CHECK(covers.latest() == begun.covers);
}

TEST_CASE("a machine is not finished with covers that have changed, and begun anew with the new")
{
    const Host host;
    Covers covers = host.covers();
    const auto begun = covers.begin();
    std::filesystem::create_directory_symlink(host.at("/opt/service"), host.at("/elsewhere"));
    CHECK(covers.latest() == begun.covers);
    CHECK_THROWS_AS(covers.require(begun), CoversChanged);
    const auto anew = covers.begin();
    REQUIRE(anew.covers.size() == 2);
    CHECK(anew.covers.front().target == "/opt/service");
    CHECK_NOTHROW(covers.require(anew));
}

TEST_CASE("a folder that was gone while its machine was begun has no cover in that one")
{
    const Host host;
    Covers covers = host.covers();
    const auto begun = covers.begin();
    std::filesystem::remove_all(host.at("/opt/service/state"));
    CHECK_THROWS_AS(covers.require(begun), CoversChanged);
    CHECK(std::filesystem::is_directory(host.at("/opt/service/state")));
    CHECK(covers.latest() == begun.covers);
    CHECK_NOTHROW(covers.require(covers.begin()));
}

TEST_CASE("nor has one that another server has made again by the end")
{
    const Host host;
    Covers covers = host.covers();
    const auto begun = covers.begin();
    const auto folder = host.at("/opt/service/state");
    std::filesystem::rename(folder, folder + ".old");
    const auto without = covers.begin();
    std::filesystem::create_directory(folder);
    CHECK_THROWS_AS(covers.require(begun), CoversChanged);
    CHECK_THROWS_AS(covers.require(without), CoversChanged);
    CHECK_NOTHROW(covers.require(covers.begin()));
}
