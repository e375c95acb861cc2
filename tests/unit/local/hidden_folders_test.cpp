#include "sandbox/local/hidden_folders.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include <unistd.h>

using namespace berth::local;
using berth::local::test::TemporaryTree;

namespace {

using Names = std::vector<std::string>;

class Host {
  public:
    Host()
    {
        tree_.add("opt/service/state/sessions/file", "");
        tree_.add("usr/home/file", "");
    }

    [[nodiscard]] std::string at(const std::string& name) const { return tree_.path() + name; }

    [[nodiscard]] Names hidden(const Names& folders, const std::string& home) const
    {
        Names targets;
        for (const auto& cover :
             find_hidden({{.source = at("/usr"), .target = "/usr"},
                          {.source = at("/opt"), .target = "/opt", .optional = true}},
                         {.folders = folders, .home = home})) {
            CHECK(cover.source == at(cover.target));
            targets.push_back(cover.target);
        }
        return targets;
    }

  private:
    TemporaryTree tree_;
};

} // namespace

TEST_CASE("what is berth's is hidden in the trees that are shown")
{
    const Host host;
    CHECK(host.hidden({}, "").empty());
    CHECK(host.hidden({host.at("/opt/service/state")}, "") == Names{"/opt/service/state"});
    CHECK(host.hidden({host.at("/opt/service/state/sessions"), host.at("/usr/home")}, "") ==
          Names{"/opt/service/state/sessions", "/usr/home"});
    CHECK(host.hidden({host.at("/var/state"), host.at("/optional")}, "").empty());
    CHECK(host.hidden({host.at("")}, "") == Names{"/opt"}); // without /usr there is no sandbox
}

TEST_CASE("a tree that is all of the host has its folders by their whole names")
{
    const Host host;
    const auto hidden = find_hidden({{.source = "/", .target = "/opt", .optional = true}},
                                    {.folders = {host.at("/usr/home")}, .home = ""});
    CHECK(hidden == std::vector<Cover>{{host.at("/usr/home"), "/opt" + host.at("/usr/home")}});
}

TEST_CASE("a folder of berth's that is not there yet is made, to be covered")
{
    const Host host;
    CHECK(host.hidden({host.at("/opt/data/workspace")}, "") == Names{"/opt/data/workspace"});
    CHECK(std::filesystem::is_directory(host.at("/opt/data/workspace")));
    CHECK(host.hidden({host.at("/var/workspace")}, "").empty());
    CHECK_FALSE(std::filesystem::exists(host.at("/var/workspace")));
}

TEST_CASE("a link that leads elsewhere since is followed")
{
    const Host host;
    std::filesystem::create_symlink("service", host.at("/opt/current"));
    CHECK(host.hidden({host.at("/opt/current/state")}, "") == Names{"/opt/service/state"});
    std::filesystem::create_directory(host.at("/opt/next"));
    std::filesystem::remove(host.at("/opt/current"));
    std::filesystem::create_symlink("next", host.at("/opt/current"));
    CHECK(host.hidden({host.at("/opt/current/state")}, "") == Names{"/opt/next/state"});
}

TEST_CASE("the home of who runs berth is hidden in /opt, and in /usr where it is that user's")
{
    const Host host;
    CHECK(host.hidden({}, host.at("/opt/service")) == Names{"/opt/service"});
    CHECK(host.hidden({}, host.at("/opt")) == Names{"/opt"});
    CHECK(host.hidden({}, host.at("/usr/home")) == Names{"/usr/home"});
    CHECK(host.hidden({}, host.at("/usr")).empty());
    CHECK(host.hidden({}, host.at("")).empty());
    CHECK(host.hidden({}, "/root-of-nobody").empty());
    if (::geteuid() == 0) {
        // As a package makes it: of root, and readable for the service's group.
        REQUIRE(::chown(host.at("/opt/service").c_str(), 1, 1) == 0);
        REQUIRE(::chown(host.at("/usr/home").c_str(), 1, 1) == 0);
        CHECK(host.hidden({}, host.at("/opt/service")) == Names{"/opt/service"});
        CHECK(host.hidden({}, host.at("/usr/home")).empty());
    }
}
