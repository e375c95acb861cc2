#include "sandbox/base/error.hpp"
#include "sandbox/e2b/settings.hpp"
#include "tests/unit/error_of.hpp"

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>

using berth::Error;
using berth::ErrorCode;
using berth::e2b::envd_endpoint;
using berth::e2b::is_sandbox_id;
using berth::e2b::read_settings;
using berth::e2b::Settings;
using berth::tests::error_of;

namespace {

using Environment = std::map<std::string, std::string>;

Settings settings_of(const Environment& environment)
{
    return read_settings([&](const std::string& name) -> std::optional<std::string> {
        const auto found = environment.find(name);
        return found != environment.end() ? std::optional(found->second) : std::nullopt;
    });
}

const std::string key = "e2b_0123456789abcdef";

} // namespace

TEST_CASE("with a key alone it is E2B's own service, over TLS")
{
    const auto settings = settings_of({{"E2B_API_KEY", key}});
    CHECK(settings.api_key == key);
    CHECK(settings.api.shown() == "https://api.e2b.app");
    CHECK_FALSE(settings.sandbox);
    CHECK(envd_endpoint(settings, "iabc").shown() == "https://sandbox.e2b.app");
}

TEST_CASE("a domain of one's own has the sandbox in the name of its hosts")
{
    const auto settings =
        settings_of({{"E2B_API_KEY", key}, {"E2B_DOMAIN", "e2b.example.org"}, {"E2B_API_URL", ""}});
    CHECK(settings.api.shown() == "https://api.e2b.example.org");
    CHECK(envd_endpoint(settings, "iabc").shown() == "https://49983-iabc.e2b.example.org");
}

TEST_CASE("the domain that the control plane names for a sandbox counts")
{
    const auto settings = settings_of({{"E2B_API_KEY", key}});
    CHECK(envd_endpoint(settings, "iabc", "byoc.example").shown() ==
          "https://49983-iabc.byoc.example");
    CHECK(envd_endpoint(settings, "iabc", "e2b.dev").shown() == "https://sandbox.e2b.dev");
}

TEST_CASE("a domain or an id that leads elsewhere is not followed")
{
    const auto settings = settings_of({{"E2B_API_KEY", key}});
    for (const std::string domain : {"x/@evil.example", "evil.example:80", "a b", "."}) {
        CAPTURE(domain);
        CHECK(error_of([&] { static_cast<void>(envd_endpoint(settings, "iabc", domain)); }) ==
              ErrorCode::backend_error);
    }
    CHECK(error_of([&] { static_cast<void>(envd_endpoint(settings, "a.evil.example/")); }) ==
          ErrorCode::backend_error);
}

TEST_CASE("both URLs can be set, also without TLS")
{
    const auto settings = settings_of({{"E2B_API_KEY", key},
                                       {"E2B_API_URL", "http://10.0.0.1:4000/api"},
                                       {"E2B_SANDBOX_URL", "http://127.0.0.1:4001"}});
    CHECK(settings.api.shown() == "http://10.0.0.1:4000/api");
    CHECK(envd_endpoint(settings, "iabc", "e2b.dev").shown() == "http://127.0.0.1:4001");
}

TEST_CASE("without a key it is told how to get one, and what local does meanwhile")
{
    for (const auto& environment : {Environment{}, Environment{{"E2B_API_KEY", ""}}}) {
        try {
            static_cast<void>(settings_of(environment));
            FAIL("taken");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::authentication_required);
            CHECK(std::string(error.what()).find("E2B_API_KEY") != std::string::npos);
            CHECK(error.hint().find("https://e2b.dev/dashboard") != std::string::npos);
            CHECK(error.hint().find("--backend local") != std::string::npos);
        }
    }
}

TEST_CASE("a key that would begin another header is refused, and not quoted")
{
    for (const std::string bad : {"e2b_secret\n", "e2b_secret\r\nX-Evil: 1", "e2b_secret x",
                                  "e2b_secret\xc3\xa4", "e2b_secret\x7f"}) {
        try {
            static_cast<void>(settings_of({{"E2B_API_KEY", bad}}));
            FAIL("taken");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            CHECK((error.what() + error.hint()).find("secret") == std::string::npos);
        }
    }
}

TEST_CASE("a domain or a URL that is none is an error that names the variable")
{
    for (const std::string name : {"E2B_DOMAIN", "E2B_API_URL", "E2B_SANDBOX_URL"}) {
        try {
            static_cast<void>(settings_of({{"E2B_API_KEY", key}, {name, "not one"}}));
            FAIL("taken");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            CHECK(std::string(error.what()).find(name) != std::string::npos);
        }
    }
}

TEST_CASE("an id of a sandbox has nothing in it that a path could mean")
{
    CHECK(is_sandbox_id("ig4bk8uibgn9atxd3rgqg"));
    CHECK(is_sandbox_id("ig4bk8uibgn9atxd3rgqg-6532622b"));
    for (const std::string id : {"", "-a", "A", "a/b", "a.b", "a?b", "a%2f", "..", "a b", "a\n"}) {
        CAPTURE(id);
        CHECK_FALSE(is_sandbox_id(id));
    }
    CHECK_FALSE(is_sandbox_id(std::string(129, 'a')));
}
