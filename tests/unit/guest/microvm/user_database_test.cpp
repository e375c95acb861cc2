#include "sandbox/base/error.hpp"
#include "sandbox/guest/microvm/user_database.hpp"
#include "tests/unit/error_of.hpp"

#include <doctest/doctest.h>

using berth::ErrorCode;
using berth::guest::find_user;
using berth::guest::user_ids;
using berth::protocol::UserIds;
using berth::tests::error_of;

namespace {

constexpr const char* passwd = "root:x:0:0:root:/root:/bin/bash\n"
                               "user:x:1000:1001::/home/user:/bin/bash\n"
                               "user2:x:1002:1002::/home/user2:/bin/bash\n"
                               "no-number:x:-1:5::/:\n"
                               "no-id:x:4294967295:5::/:\n"
                               "short:x:7\n";
constexpr const char* groups = "root:x:0:\n"
                               "sudo:x:27:other,user\n"
                               "users:x:100:user2,user\n"
                               "own:x:1001:user\n"
                               "odd:x:x:user\n"
                               "last:x:200:user"; // no newline at the end of the file

} // namespace

TEST_CASE("a user's ids are those of its line, and of the groups that name it")
{
    CHECK(user_ids("user", passwd, groups) ==
          UserIds{.user = 1000, .group = 1001, .groups = {27, 100, 200}});
    CHECK(user_ids("user2", passwd, groups) ==
          UserIds{.user = 1002, .group = 1002, .groups = {100}});
    CHECK(user_ids("root", passwd, "") == UserIds{.user = 0, .group = 0, .groups = {}});
}

TEST_CASE("a user that is not there, or whose line is none, has no ids")
{
    for (const char* const name : {"other", "", "use", "no-number", "no-id", "short"}) {
        CAPTURE(name);
        CHECK_FALSE(user_ids(name, passwd, groups).has_value());
    }
}

TEST_CASE("this machine has root, and not everybody")
{
    CHECK(find_user("root").user == 0);
    CHECK(error_of([] { (void)find_user("nobody-of-that-name"); }) ==
          ErrorCode::sandbox_unavailable);
}
