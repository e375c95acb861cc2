#include "tests/unit/tools/schema_validator.hpp"
#include "tools/bash_exec.hpp"
#include "tools/bash_output.hpp"
#include "tools/limit_report.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <string>

using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace
using berth::protocol::LimitHits;

namespace {

constexpr LimitHits slow{.cpu_periods = 15, .throttled_periods = 14, .throttled_time = 2'300'400};

std::string complaint(std::string_view tool, nlohmann::json data)
{
    data["session"] = "s";
    data["backend"] = "local";
    data["ok"] = true;
    return test::schema_complaint(find_tool(tool)->output_schema, data);
}

} // namespace

TEST_CASE("limits that were met are data of a command's result, and of a job's")
{
    LimitHits hits = slow;
    hits.refused_processes = 3;
    berth::protocol::ExecuteReply reply;
    reply.limit_hits = hits;
    const auto shown = BashExec::render(reply, std::chrono::seconds(2), Settings{});
    CHECK(complaint("bash_exec", *shown.data) == "");
    CHECK(shown.data->at("pids_hit") == nlohmann::json({{"count", 3}, {"scope", "session"}}));
    CHECK(shown.data->at("cpu_throttled") == nlohmann::json({{"periods", 15},
                                                             {"throttled_periods", 14},
                                                             {"throttled_ms", 2300},
                                                             {"scope", "session"}}));
    CHECK(shown.text.find("slowed by the session's limit of processor time (local.cpus): reached "
                          "in 14 of 15 periods of 100 ms") != std::string::npos);

    hits.refused_of_command = true;
    berth::protocol::JobOutputReply job;
    job.state.limit_hits = hits;
    const auto told = BashOutput::render({}, job, Settings{});
    CHECK(complaint("bash_output", *told.data) == "");
    CHECK(told.data->at("pids_hit").at("scope") == "command");
    CHECK(told.text.find("slowed by") != std::string::npos);
}

TEST_CASE("of limits that were not met nothing is said")
{
    const auto shown =
        BashExec::render(berth::protocol::ExecuteReply(), std::chrono::seconds(2), Settings{});
    CHECK_FALSE(shown.data->contains("pids_hit"));
    CHECK_FALSE(shown.data->contains("cpu_throttled"));
    CHECK(throttled_phrase({}).empty());
    CHECK(throttled_phrase(LimitHits{.cpu_periods = 12, .throttled_periods = 9}).empty());
    CHECK(throttled_phrase(LimitHits{.cpu_periods = 40, .throttled_periods = 20}).empty());
}
