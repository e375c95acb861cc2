#include "sandbox/local/cgroup_files.hpp"
#include "sandbox/local/cgroup_layout.hpp"
#include "sandbox/local/cgroup_tree.hpp"
#include "tests/unit/local/host_cgroups.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <future>
#include <string>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace berth::local;

namespace {

/// The cgroup of a server, with the folder for machines in it that berth makes.
struct ServerCgroup {
    explicit ServerCgroup(const std::string& suffix)
        : path(find_cgroups("", true).v2_base + "/berth-removal-" + std::to_string(::getpid()) +
               suffix),
          folder(path + "/berth")
    {
        REQUIRE(::mkdir(path.c_str(), 0755) == 0);
        REQUIRE(::mkdir(folder.c_str(), 0755) == 0);
    }

    ~ServerCgroup() { remove_cgroup(path, berth::Deadline::after(std::chrono::seconds(5))); }

    ServerCgroup(const ServerCgroup&) = delete;
    ServerCgroup& operator=(const ServerCgroup&) = delete;
    ServerCgroup(ServerCgroup&&) = delete;
    ServerCgroup& operator=(ServerCgroup&&) = delete;

    std::string path;
    std::string folder;
};

bool exists(const std::string& path)
{
    return ::access(path.c_str(), F_OK) == 0;
}

} // namespace

TEST_CASE("the cgroup of a unit that has ended goes with the last machine in it")
{
    if (!test::host_has_cgroup2()) {
        return; // nor can berth have made any
    }
    const ServerCgroup unit(".service");
    SUBCASE("with nobody in it")
    {
        REQUIRE(::mkdir((unit.path + server_leaf).c_str(), 0755) ==
                0); // its server's, which has ended
        remove_abandoned(unit.folder);
        CHECK_FALSE(exists(unit.path));
    }
    SUBCASE("not beside another machine's")
    {
        REQUIRE(::mkdir((unit.folder + "/other").c_str(), 0755) == 0);
        remove_abandoned(unit.folder);
        CHECK(exists(unit.folder + "/other"));
    }
    SUBCASE("not while its server is there, whose next machine has a folder of its own")
    {
        const pid_t server = ::fork();
        REQUIRE(server >= 0);
        if (server == 0) {
            ::pause();
            ::_exit(0);
        }
        std::ofstream(unit.path + "/cgroup.procs") << server << std::flush;
        remove_abandoned(unit.folder);
        CHECK_FALSE(exists(unit.folder));
        CHECK(exists(unit.path));
        ::kill(server, SIGKILL);
        CHECK(::waitpid(server, nullptr, 0) == server);
    }
}

TEST_CASE("whoever makes a machine's cgroup is not disturbed by those who remove the last")
{
    if (!test::host_has_cgroup2()) {
        return; // nor can berth have made any
    }
    const ServerCgroup own("");
    const auto take_turns = [&](const std::string& name) {
        CgroupSpec spec;
        spec.name = name;
        for (int i = 0; i < 300; ++i) {
            const auto session = cgroup::make_session_directory(own.path, spec);
            if (!remove_cgroup(session, berth::Deadline::after(std::chrono::seconds(5)))) {
                return false;
            }
            remove_abandoned(own.folder);
        }
        return true;
    };
    auto other = std::async(std::launch::async, take_turns, "a");
    CHECK(take_turns("b"));
    CHECK(other.get());
    CHECK_FALSE(exists(own.folder));
}

TEST_CASE("a cgroup that is no unit of systemd's is its maker's")
{
    if (!test::host_has_cgroup2()) {
        return; // nor can berth have made any
    }
    const ServerCgroup own("");
    remove_abandoned(own.folder);
    CHECK_FALSE(exists(own.folder));
    CHECK(exists(own.path));
}
