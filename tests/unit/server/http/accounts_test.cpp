#include "server/http/accounts.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace berth::server::http; // NOLINT(google-build-using-namespace): the subject

TEST_CASE("one principal has one account as long as anybody has it")
{
    Accounts accounts;
    auto alice = accounts.of("alice");
    CHECK(accounts.of("alice") == alice);
    CHECK(accounts.of("bob") != alice);
    alice->calls = 3;
    for (int i = 0; i < 2000; ++i) { // those that nobody has any more are let go meanwhile
        (void)accounts.of("p" + std::to_string(i));
    }
    CHECK(accounts.of("alice")->calls == 3);
    alice.reset();
    CHECK(accounts.of("alice")->calls == 0);
}
