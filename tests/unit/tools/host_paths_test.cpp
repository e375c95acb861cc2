#include "tools/host_paths.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using berth::tools::path_in_sandbox;

namespace {

const std::vector<berth::sandbox::Mount> mounts = {
    {"/srv/p", "/home/user/p", true},
    {"/srv/p/deep", "/mnt/d", false},
    {"/home/user/q", "/home/user/r", true},
    {"/home/user/other", "/home/user/q", true},
    {"/data", "/data", true},
};

std::string told(const std::string& message)
{
    return path_in_sandbox(message, mounts).value_or("nothing");
}

} // namespace

TEST_CASE("a path of the host is told as the sandbox has it")
{
    CHECK(told("/srv/p/a b/c does not exist") == "/home/user/p/a b/c");
    CHECK(told("/srv/p is outside of what this tool may write") == "/home/user/p");
    CHECK(told("/srv/p/deep/f does not exist") == "/mnt/d/f");
    CHECK(told("/home/user/other/f does not exist") == "/home/user/q/f");
}

TEST_CASE("what is the sandbox's own path, or none, is not told to be the host's")
{
    for (const char* message :
         {"/srv/pp/f does not exist", "/srv does not exist", "srv/p/f does not exist",
          "/home/user/q/f does not exist", "/home/user/r/f does not exist",
          "/data/f does not exist", "/srv/p/../q/f does not exist", "/srv/p/.. does not exist",
          "/srv/p/f is a directory", "there is no job 7", ""}) {
        CAPTURE(message);
        CHECK(told(message) == "nothing");
    }
    CHECK_FALSE(path_in_sandbox("/srv/p does not exist", {}).has_value());
}
