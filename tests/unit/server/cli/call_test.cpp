#include "server/application.hpp"
#include "server/cli/call.hpp"
#include "server/recent_errors.hpp"
#include "tests/unit/captured.hpp"
#include "tests/unit/session/fake_backend.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <unistd.h>

using namespace berth;         // NOLINT(google-build-using-namespace): the subject of the test
using namespace berth::server; // NOLINT(google-build-using-namespace): the subject of the test

namespace {

struct Fixture {
    berth::tests::TemporaryDirectory directory;
    std::shared_ptr<berth::tests::FakeBackend> backend =
        std::make_shared<berth::tests::FakeBackend>(directory / "machines");
    Application application{make(), backend};
    int status = -1;
    std::string out;
    std::string err;

    [[nodiscard]] Options make() const
    {
        Given given;
        given.values["state_dir"] = {.items = {directory / "state"}, .origin = "test"};
        given.values["tools"] = {.items = {"session_info", "read_file"}, .origin = "test"};
        given.session = "work";
        return make_options(given, [](const std::string&) { return std::nullopt; });
    }

    void call(const std::string& tool, const std::optional<std::string>& arguments,
              bool as_json = false)
    {
        err = berth::tests::captured(STDERR_FILENO, [&] {
            out = berth::tests::captured(
                STDOUT_FILENO, [&] { status = cli::call(application, tool, arguments, as_json); });
        });
    }
};

} // namespace

TEST_SUITE("server/cli/call")
{
    TEST_CASE_FIXTURE(Fixture, "the tool's text is printed, or the whole result")
    {
        call("session_info", "{}");
        CHECK(status == 0);
        CHECK(out.starts_with("Session work: no sandbox yet"));
        CHECK(err.empty());
        call("session_info", "{}", true);
        CHECK(status == 0);
        CHECK(nlohmann::json::parse(out)["_meta"]["berth/result"]["state"] == "absent");
        CHECK(backend->count("create") == 0);
    }

    TEST_CASE_FIXTURE(Fixture, "a tool that fails is status 1, its error the text")
    {
        call("session_info", R"({"wrong":1})");
        CHECK(status == 1);
        CHECK(out.find("wrong") != std::string::npos);
        CHECK(recent_errors(directory / "state", 10).empty()); // the caller's mistake
        std::filesystem::create_directory(directory / "state");
        backend->available = false;
        call("read_file", R"({"path":"a"})");
        CHECK(status == 1);
        CHECK(out == "no fakes here\nallow fakes\n");
        const auto errors = recent_errors(directory / "state", 10);
        REQUIRE(errors.size() == 1);
        CHECK(errors[0].code == "sandbox_unavailable");
        CHECK(errors[0].tool == "read_file");
        CHECK(errors[0].session == "work");
        call("session_info", "{}");
        CHECK(status == 0);
        CHECK(out.find("no sandbox, and none can be made") != std::string::npos);
        CHECK(out.find("no sandbox can be made here now: no fakes here; allow fakes") !=
              std::string::npos);
    }

    TEST_CASE_FIXTURE(Fixture, "a tool that is not there is named with those that are")
    {
        call("sesion_info", "{}");
        CHECK(status == 1);
        CHECK(out.empty());
        CHECK(err.find("Unknown tool: sesion_info") != std::string::npos);
        CHECK(err.find("read_file, session_info") != std::string::npos);
        call("nosuch", "{}");
        CHECK(status == 1);
        CHECK(err == "berth: Unknown tool: nosuch; there are read_file, session_info\n"); // once
        call("bash_exec", "{}");
        CHECK(status == 1);
        CHECK(err.find("bash_exec is not served") != std::string::npos);
    }

    TEST_CASE_FIXTURE(Fixture, "arguments that are no JSON object are status 2")
    {
        for (const auto* text : {"", "{", "[]", "7", "{} x", "{\"a\":1,}"}) {
            CAPTURE(text);
            call("session_info", text);
            CHECK(status == 2);
            CHECK(out.empty());
            CHECK(err.starts_with("berth: the arguments of session_info "));
            CHECK(err.find("'{") != std::string::npos); // how it is written
        }
        call("read_file", "{");
        CHECK(err.find("berth call read_file '{\"path\": \"src/main.c\"") != std::string::npos);
        CHECK(err.find("docs/tools.md") != std::string::npos);
    }

    TEST_CASE_FIXTURE(Fixture, "who gives no arguments to a tool that needs some sees an example")
    {
        call("read_file", std::nullopt);
        CHECK(status == 2);
        CHECK(err.starts_with("berth: the arguments of read_file are missing\n"));
        CHECK(err.find("berth call read_file '{\"path\": \"src/main.c\"") != std::string::npos);
        call("session_info", std::nullopt); // which needs none
        CHECK(status == 0);
        call("sesion_info", std::nullopt);
        CHECK(err.find("Unknown tool: sesion_info") != std::string::npos);
    }
}
