#include "sandbox/base/error.hpp"
#include "sandbox/e2b/account.hpp"

#include <doctest/doctest.h>

using berth::Error;
using berth::ErrorCode;
using berth::e2b::account_in;
using berth::e2b::account_of;
using berth::e2b::Accounts;
using berth::e2b::known_account;
using berth::e2b::require_accounts;
using berth::e2b::Settings;

namespace {

Settings settings_with(const char* key, const char* host)
{
    return {.api_key = key, .domain = {}, .api = {.host = host, .prefix = {}}, .sandbox = {}};
}

} // namespace

TEST_CASE("an account is a key at an address, and neither can be read in its name")
{
    const auto one = account_of(settings_with("e2b_00aa", "api.e2b.app"));
    CHECK(one == account_of(settings_with("e2b_00aa", "api.e2b.app")));
    CHECK(one != account_of(settings_with("e2b_00ab", "api.e2b.app")));
    CHECK(one != account_of(settings_with("e2b_00aa", "api.example.com")));
    CHECK(one.size() == 16);
    CHECK(one.find("00aa") == std::string::npos);
    CHECK_NOTHROW(require_accounts({one}));
}

TEST_CASE("another account's word on a sandbox is none, until it is known to be the same team's")
{
    const std::string other = "0123456789abcdef";
    Accounts accounts("fedcba9876543210", {});
    CHECK_NOTHROW(accounts.require_word_on("the sandbox box", accounts.own()));
    CHECK_NOTHROW(accounts.require_word_on("the sandbox box", "")); // of an earlier release
    try {
        accounts.require_word_on("the sandbox box", other);
        FAIL("another's was believed");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::sandbox_unavailable);
        CHECK(std::string(error.what()).find("the sandbox box") != std::string::npos);
        CHECK(error.hint().find("BERTH_E2B_SAME_ACCOUNT=" + other) != std::string::npos);
    }
    accounts.note_seen(other);
    CHECK_NOTHROW(accounts.require_word_on("the sandbox box", other));
}

TEST_CASE("a machine's number says whose it is, and books cannot say what is no account")
{
    const std::string account = "0123456789abcdef";
    CHECK(account_in(std::string(32, '1') + account) == account);
    CHECK(account_in(std::string(32, '1')).empty()); // of an earlier release
    CHECK(account_in("").empty());
    CHECK(known_account(account) == account);
    CHECK(known_account("").empty());
    const auto other = known_account("x; rm -rf /");
    CHECK_NOTHROW(require_accounts({other})); // so that there is a way on
}

TEST_CASE("an operator says which accounts are of one team")
{
    const std::string other = "0123456789abcdef";
    const Accounts accounts("fedcba9876543210", {other});
    CHECK_NOTHROW(accounts.require_word_on("the sandbox box", other));
    CHECK_THROWS_AS(accounts.require_word_on("the sandbox box", "0123456789abcde0"), Error);
}

TEST_CASE("what is no account is refused, and not quoted: it may be a key")
{
    for (const std::string wrong :
         {"", "e2b_0123456789ab", "0123456789abcdeF", "0123456789abcdef0"}) {
        CAPTURE(wrong);
        try {
            require_accounts({wrong});
            FAIL("it was taken");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            CHECK((wrong.empty() || std::string(error.what()).find(wrong) == std::string::npos));
        }
    }
}
