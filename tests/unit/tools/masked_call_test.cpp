#include "sandbox/base/error.hpp"
#include "tools/masked_call.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace
using berth::Error;
using berth::ErrorCode;
using nlohmann::json;

namespace {

Settings with_secret()
{
    Settings settings;
    settings.secrets = [] { return std::vector<Secret>{{"TOKEN", "hunter2-hunter2"}}; };
    settings.known_secrets = settings.secrets;
    return settings;
}

} // namespace

TEST_CASE("a call's text, data, notices and progress are without the secrets, and a notice says so")
{
    const auto settings = with_secret();
    Told told;
    std::vector<std::string> progressed;
    Progress progress = [&](std::string message) { progressed.push_back(std::move(message)); };
    const auto result = run_masked(settings, told, progress, [&] {
        progress("doing hunter2-hunter2");
        told.notices.emplace_back("hunter2-hunter2 was met");
        Result shown("text hunter2-hunter2", json{{"stdout", "x hunter2-hunter2"},
                                                  {"files", {{{"path", "/hunter2-hunter2"}}}},
                                                  {"exit_code", 0}});
        shown.notices.emplace_back("hunter2-hunter2 is its own");
        return shown;
    });
    CHECK(result.text == "text [secret TOKEN]");
    CHECK(*result.data == json{{"stdout", "x [secret TOKEN]"},
                               {"files", {{{"path", "/[secret TOKEN]"}}}},
                               {"exit_code", 0}});
    CHECK(progressed == std::vector<std::string>{"doing [secret TOKEN]"});
    CHECK(told.notices == std::vector<std::string>{"[secret TOKEN] was met"});
    REQUIRE(result.notices.size() == 2);
    CHECK(result.notices[0] == "[secret TOKEN] is its own");
    CHECK(result.notices[1].ends_with(": TOKEN"));
}

TEST_CASE("secrets are read once for a call, and what it reads itself is masked too")
{
    std::vector<Secret> known;
    int reads = 0;
    Settings settings;
    settings.secrets = [&] {
        ++reads;
        known = {{"TOKEN", "old-old-old"}};
        return known;
    };
    settings.known_secrets = [&] { return known; };
    Told told;
    std::vector<std::string> progressed;
    Progress progress = [&](std::string message) { progressed.push_back(std::move(message)); };
    const auto result = run_masked(settings, told, progress, [&] {
        progress("old-old-old");
        known.push_back({"TOKEN", "new-new-new"}); // as its command is given it
        progress("new-new-new");
        return Result("old-old-old new-new-new", json::object());
    });
    CHECK(result.text == "[secret TOKEN] [secret TOKEN]");
    CHECK(progressed == std::vector<std::string>{"[secret TOKEN]", "[secret TOKEN]"});
    CHECK(reads == 1);
}

TEST_CASE("what a failed call says is without the secrets, and else what it was")
{
    const auto settings = with_secret();
    Told told;
    Progress progress;
    try {
        (void)run_masked(settings, told, progress, []() -> Result {
            throw Error(Error(ErrorCode::not_found, "no hunter2-hunter2", "try hunter2-hunter2")
                            .with_detail("path", "hunter2-hunter2")
                            .with_output("hunter2-hunter2")
                            .set_retryable(true));
        });
        FAIL("nothing was thrown");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::not_found);
        CHECK(error.what() == std::string("no [secret TOKEN]"));
        CHECK(error.hint() == "try [secret TOKEN]");
        CHECK(error.details().at("path") == "[secret TOKEN]");
        CHECK(error.output() == "[secret TOKEN]");
        CHECK(error.retryable());
    }
}

TEST_CASE("without secrets, or where none was met, nothing is said")
{
    Told told;
    Progress progress;
    const auto call = [] { return Result("text", json{{"stdout", "x"}}); };
    CHECK(run_masked(Settings(), told, progress, call).text == "text");
    CHECK(run_masked(with_secret(), told, progress, call).text == "text");
    CHECK(told.notices.empty());
}
