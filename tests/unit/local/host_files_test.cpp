#include "sandbox/local/host_files.hpp"
#include "tests/unit/local/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include <sys/stat.h>

using namespace berth::local;
using berth::local::test::TemporaryTree;

namespace {

bool has_target(const HostFiles& found, const std::string& target)
{
    return std::any_of(found.binds.begin(), found.binds.end(),
                       [&](const Bind& bind) { return bind.target == target; });
}

} // namespace

TEST_CASE("of /etc only what is known and readable for everybody is shown")
{
    const TemporaryTree host;
    host.add("etc/ssl/certs/a.pem", "");
    host.add("etc/ssl/private/key", "");
    host.add("etc/ld.so.cache", "");
    host.add("etc/java-17-openjdk/java.security", "");
    host.add("etc/shadow", "");
    host.add("etc/machine-id", "");
    host.add("etc/myapp/password", "");
    host.add("etc/protocols", "");
    ::chmod((host.path() + "/etc/protocols").c_str(), 0640);
    const auto found = find_host_files(host.path() + "/");
    CHECK(has_target(found, "/etc/ssl/certs"));
    CHECK(has_target(found, "/etc/ld.so.cache"));
    CHECK(has_target(found, "/etc/java-17-openjdk"));
    for (const char* closed : {"/etc/ssl", "/etc/ssl/private", "/etc/shadow", "/etc/machine-id",
                               "/etc/myapp", "/etc/protocols", "/etc"}) {
        CAPTURE(closed);
        CHECK_FALSE(has_target(found, closed));
    }
}

TEST_CASE("what a link in /usr needs of /etc is shown, but never secrets")
{
    const TemporaryTree host;
    host.add("etc/tool/conf", "");
    host.add("etc/ssl/private/key", "");
    host.add("etc/shadow", "");
    host.add_directory("usr/share");
    namespace fs = std::filesystem;
    fs::create_symlink("/etc/tool", host.path() + "/usr/share/tool");
    fs::create_symlink("/etc/ssl/private", host.path() + "/usr/share/private");
    fs::create_symlink("/etc/shadow", host.path() + "/usr/share/shadow");
    fs::create_symlink("/etc/../root", host.path() + "/usr/share/up");
    fs::create_symlink("/etc/", host.path() + "/usr/share/all");
    const auto found = find_host_files(host.path() + "/");
    CHECK(has_target(found, "/etc/tool"));
    for (const char* closed : {"/etc/ssl/private", "/etc/shadow", "/etc/", "/etc/../root"}) {
        CAPTURE(closed);
        CHECK_FALSE(has_target(found, closed));
    }
}

TEST_CASE("the links of the root are the host's")
{
    const TemporaryTree host;
    host.add_directory("usr/bin");
    host.add_directory("lib");
    std::filesystem::create_symlink("usr/bin", host.path() + "/bin");
    const auto found = find_host_files(host.path() + "/");
    REQUIRE(found.links.size() == 1);
    CHECK(found.links.at(0).path == "/bin");
    CHECK(found.links.at(0).target == "usr/bin");
    CHECK(has_target(found, "/lib"));
}
