#include "server/audit/call_secrets.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace berth::server; // NOLINT(google-build-using-namespace): the subject
using nlohmann::json;

namespace {

bool is_secret(const json& env, const std::string& value)
{
    const auto values = secrets_of_call({{"env", env}}).values;
    return std::ranges::find(values, value) != values.end();
}

} // namespace

TEST_CASE("the values of a call's env are secret, and its names are none")
{
    const auto found = secrets_of_call({{"env", {{"A", "one"}, {"B", "two=three"}}}});
    CHECK(found.names == std::vector<std::string>{"A", "B"});
    CHECK(found.values == std::vector<std::string>{"one", "two=three"}); // whole, and no part
    CHECK(secrets_of_call({{"command", "ls"}}).values.empty());
    CHECK(secrets_of_call("no object").values.empty());
}

TEST_CASE("in an env of another form whatever may be a value is one")
{
    CHECK(is_secret("TOKEN=sk-1234", "sk-1234"));
    CHECK(is_secret("TOKEN=a=b c", "a=b c")); // whole, as far as the line goes
    CHECK(is_secret("A=1\nexport B='sk-1234'\n", "sk-1234"));
    CHECK(is_secret("{\"TOKEN\": \"sk-\\u0031234\"}", "sk-1234")); // JSON in a text
    CHECK(is_secret(json::array({"TOKEN=sk-1234"}), "sk-1234"));
    CHECK(is_secret({{"TOKEN", {{"value", "sk-1234"}}}}, "sk-1234"));
    CHECK(is_secret({{"TOKEN", json::array({"x", "sk-1234"})}}, "sk-1234"));
    CHECK(is_secret({{"TOKEN", 12345678}}, "12345678"));
    CHECK(is_secret(12345678, "12345678"));
    CHECK(is_secret({{"TOKEN=sk-1234", ""}}, "sk-1234")); // a name that is more than one
    CHECK(is_secret({{"export TOKEN sk-1234", ""}}, "sk-1234"));
    const json as_name{{"TOKEN=sk-1234", ""}, {"B", "two"}};
    CHECK(secrets_of_call({{"env", as_name}}).names == std::vector<std::string>{"B"});
    const auto renamed = secrets_of_call({{"environment", "TOKEN=sk-1234"}}).values;
    CHECK(std::ranges::find(renamed, "sk-1234") != renamed.end());
    std::string deep;
    for (int i = 0; i < 100'000; ++i) {
        deep += '[';
    }
    CHECK(is_secret(deep, deep)); // it is no JSON that is read
}

TEST_CASE("an env that could be taken into millions of pieces is not, and says so")
{
    CHECK(secrets_of_call({{"env", "A=b"}}).are_all);
    std::string pieces;
    for (int i = 0; i < 1'000'000; ++i) {
        pieces += "a ";
    }
    const auto found = secrets_of_call({{"env", pieces}});
    CHECK_FALSE(found.are_all);
    CHECK(found.values.size() < 100'000);
    CHECK_FALSE(secrets_of_call({{"env", {{"A", std::string(2 << 20U, 'x')}}}}).are_all);
}
