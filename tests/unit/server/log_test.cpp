#include "sandbox/base/request_scope.hpp"
#include "server/log.hpp"
#include "tests/unit/captured.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

#include <unistd.h>

using namespace berth::server; // NOLINT(google-build-using-namespace): the subject of the test

namespace {

template <class Action>
std::string logged(const char* level, const char* format, Action action)
{
    const auto text = berth::tests::captured(STDERR_FILENO, [&] {
        log::start(level, format);
        action();
    });
    log::start("off", "text");
    return text;
}

} // namespace

TEST_CASE("a line has time, level, message and fields")
{
    const auto line = logged("info", "text", [] {
        log::write(log::Level::info, "serving", {{"backend", "local"}, {"empty", ""}});
    });
    CHECK(line.size() > 24);
    CHECK(line.substr(4, 1) == "-");
    CHECK(line.substr(23) == "Z info serving backend=local empty=\"\"\n");
}

TEST_CASE("less than the least level is not logged")
{
    const auto all = [] {
        log::write(log::Level::debug, "d", {});
        log::write(log::Level::info, "i", {});
        log::write(log::Level::warning, "w", {});
        log::write(log::Level::error, "e", {});
    };
    const auto lines = [&](const char* level) {
        const auto text = logged(level, "text", all);
        return std::count(text.begin(), text.end(), '\n');
    };
    CHECK(lines("debug") == 4);
    CHECK(lines("info") == 3);
    CHECK(lines("warning") == 2);
    CHECK(lines("error") == 1);
    CHECK(lines("off") == 0);
}

TEST_CASE("no value can forge a field or a line")
{
    const auto line = logged("info", "text", [] {
        log::write(log::Level::info, "call",
                   {{"tool", "x level=error\n2026 error fake"},
                    {"quote", "a\"b"},
                    {"bytes", "\xff\x1b[31m"},
                    {"csi", "\u009b2J"}});
    });
    CHECK(std::count(line.begin(), line.end(), '\n') == 1);
    CHECK(line.find("tool=\"x level=error\\n2026 error fake\"") != std::string::npos);
    CHECK(line.find("quote=\"a\\\"b\"") != std::string::npos);
    CHECK(line.find('\x1b') == std::string::npos);
    CHECK(line.find(R"(csi="\u009b2J")") != std::string::npos);
}

TEST_CASE("what is logged at a request bears its id, and the trace that it is a part of")
{
    std::string id;
    const auto line = logged("info", "json", [&] {
        const berth::RequestScope scope("00-trace");
        id = scope.id();
        log::write(log::Level::info, "call", {{"tool", "x"}});
    });
    const auto parsed = nlohmann::json::parse(line);
    CHECK(parsed["request"] == id);
    CHECK(parsed["traceparent"] == "00-trace");
    const auto plain = logged("info", "text", [] {
        const berth::RequestScope scope({});
        log::write(log::Level::info, "call", {});
    });
    CHECK(plain.find(" call request=") != std::string::npos);
    CHECK(plain.find("traceparent") == std::string::npos);
}

TEST_CASE("JSON lines are JSON, whatever is in them")
{
    const auto line = logged("info", "json", [] {
        log::write(log::Level::warning, "a \"b\"\n", {{"tool", "\xff\x01"}, {"x", "{}%v"}});
    });
    const auto parsed = nlohmann::json::parse(line);
    CHECK(parsed["level"] == "warning");
    CHECK(parsed["message"] == "a \"b\"\n");
    CHECK(parsed["x"] == "{}%v");
    CHECK(parsed["time"].get<std::string>().ends_with("Z"));
}
