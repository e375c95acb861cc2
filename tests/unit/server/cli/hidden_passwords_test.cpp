#include "server/cli/hidden_passwords.hpp"

#include <doctest/doctest.h>

#include <string>

using berth::server::cli::hide_passwords;

TEST_SUITE("server/cli/hidden_passwords")
{
    TEST_CASE("the password of an address is not shown")
    {
        CHECK(hide_passwords("--registy redis://ann:hunter2@h:6379/1 --json") ==
              "--registy redis://ann:***@h:6379/1 --json");
        CHECK(hide_passwords("x = \"redis://:hunter2@h\" (file)") ==
              "x = \"redis://:***@h\" (file)");
        CHECK(hide_passwords("a://b:c@d, e://f:g@h") == "a://b:***@d, e://f:***@h");
    }

    TEST_CASE("also of one that has not the %XX that it needs")
    {
        CHECK(hide_passwords("redis://ann:hun/ter@2:x@h") == "redis://ann:***@h");
        CHECK(hide_passwords("rediss://ann:hunter2@h?x=a@b") == "rediss://ann:***@b");
    }

    TEST_CASE("the form of an address is no password")
    {
        const std::string form = "Allowed: redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE] or "
                                 "unix://[USER[:PASSWORD]@]/PATH[?db=DATABASE].";
        CHECK(hide_passwords(form) == form);
        CHECK(hide_passwords("redis://[USER[:PASSWORD]@]ann:hunter2@h") ==
              "redis://[USER[:PASSWORD]@]ann:***@h");
        CHECK(hide_passwords("redis://[ann:hunter2@h") == "redis://[ann:***@h");
    }

    TEST_CASE("what has none is shown as it is")
    {
        for (const std::string text :
             {"", "://", "redis://h:6379/0", "unix://ann@/run/redis.sock", "a@b:c", "mail: x@y",
              "redis://h:6379 ann@home", "redis://\"a:b@c\""}) {
            CHECK(hide_passwords(text) == text);
        }
    }
}
