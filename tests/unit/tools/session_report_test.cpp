#include "tests/unit/tools/schema_validator.hpp"
#include "tools/session_report.hpp"
#include "tools/tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <string>

using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace
namespace protocol = berth::protocol;
namespace session = berth::session;
using nlohmann::json;
using protocol::Fate;

namespace {

protocol::JobEntry ended(std::int32_t exit_code, std::optional<Fate> fate)
{
    protocol::JobEntry job;
    job.job_id = "job-1";
    job.command = "make";
    job.status = "ended";
    job.age = 2000;
    job.exit_code = exit_code;
    job.fate = fate;
    return job;
}

/// Its line in the text, and what the result has of it beside what every one has.
struct Told {
    std::string line;
    json data;
};

Told told(const protocol::JobEntry& job)
{
    SessionInfo::Machine machine;
    machine.info.ended = {job};
    const session::SessionFacts facts;
    const Settings settings;
    const auto text = session_text(facts, machine, &settings);
    const auto line = text.find("  job-1  ") + 9;
    auto data = session_data(facts, machine, &settings);
    data["session"] = "s";
    data["backend"] = "local";
    data["ok"] = true;
    CHECK(test::schema_complaint(find_tool("session_info")->output_schema, data) == "");
    auto entry = data.at("ended_jobs").at(0);
    for (const auto* key : {"job_id", "command", "age_ms"}) {
        CHECK(entry.erase(key) == 1);
    }
    return {text.substr(line, text.find('\n', line) - line), std::move(entry)};
}

} // namespace

TEST_CASE("a job that has ended: how, and an exit code only where there is one")
{
    CHECK(told(ended(3, Fate::exited)).line == "exit 3, 2.0 s: make");
    CHECK(told(ended(3, Fate::exited)).data ==
          json{{"fate", "exited"}, {"exit_code", 3}, {"ended_by", ""}, {"not_run", false}});

    auto job = ended(-1, Fate::timed_out);
    job.ended_by = "deadline";
    CHECK(told(job).line == "timed out, stopped at its deadline, 2.0 s: make");
    CHECK(told(job).data ==
          json{{"fate", "timed_out"}, {"ended_by", "deadline"}, {"not_run", false}});

    job = ended(128 + SIGTERM, Fate::signaled);
    job.signal = SIGTERM;
    job.ended_by = "kill";
    CHECK(told(job).line == "killed by SIGTERM (exit 143), on request, 2.0 s: make");
    CHECK(told(job).data == json{{"fate", "signaled"},
                                 {"exit_code", 143},
                                 {"signal", "SIGTERM"},
                                 {"ended_by", "kill"},
                                 {"not_run", false}});

    job = ended(-1, Fate::lost);
    job.not_run = true;
    CHECK(told(job).line == "not run, 2.0 s: make");
    CHECK(told(job).data == json{{"ended_by", ""}, {"not_run", true}});
}

TEST_CASE("a job that an earlier guest says less of")
{
    CHECK(told(ended(3, {})).line == "exit 3, 2.0 s: make");
    CHECK(told(ended(-1, {})).line == "stopped, 2.0 s: make");
    CHECK(told(ended(-1, {})).data == json{{"ended_by", ""}, {"not_run", false}});
    auto job = ended(0, {});
    job.exit_code.reset();
    CHECK(told(job).line == "ended, 2.0 s: make");
}

TEST_CASE("what the last server's leaving does to a pause is told beside it")
{
    session::SessionFacts facts;
    facts.state = "running";
    facts.machine = session::ToldMachine::present;
    SessionInfo::Machine machine;
    machine.info.pause = protocol::PauseState{};
    auto& job = machine.info.jobs.emplace_back();
    job.job_id = "job-1";
    job.remaining = 7'200'000;
    const auto line = [&](std::optional<protocol::OnDisconnect> on_disconnect) {
        facts.on_disconnect = on_disconnect;
        const auto text = session_text(facts, machine, nullptr);
        const auto at = text.find("pause: ");
        return text.substr(at, text.find('\n', at) - at);
    };
    const std::string awake = "pause: kept awake by job-1, for 2 h at the longest";
    CHECK(line({}) == awake);
    CHECK(line(protocol::OnDisconnect::idle) == awake); // idleness never pauses it
    machine.info.pause->idle_pause = 300'000;
    CHECK(line(protocol::OnDisconnect::idle) == awake); // nobody is there who could leave
    machine.info.pause->clients = 1;
    CHECK(line(protocol::OnDisconnect::keep) == awake);
    CHECK(line(protocol::OnDisconnect::idle) ==
          awake + "; paused as soon as its last server has left and nothing runs");
    CHECK(line(protocol::OnDisconnect::now) ==
          awake + "; paused, jobs or not, as soon as its last server leaves");
    CHECK(line(protocol::OnDisconnect::kill) ==
          awake + "; it ends, jobs or not, as soon as its last server leaves");
    CHECK(session_data(facts, machine, nullptr).at("on_disconnect") == "kill");
    CHECK_FALSE(session_data({}, machine, nullptr).contains("on_disconnect"));
    machine.info.pause->paused = true;
    CHECK(line(protocol::OnDisconnect::kill).find("leaves") == std::string::npos);
}

TEST_CASE("open files are told as the machine has them, which the host may have cut")
{
    session::SessionFacts facts;
    facts.state = "running";
    facts.machine = session::ToldMachine::present;
    facts.limits.nofile = 1'048'576;
    SessionInfo::Machine machine;
    const auto told = [&] {
        return session_data(facts, machine, nullptr).at("limits").at("open_files").get<int>();
    };
    CHECK(told() == 1'048'576); // an earlier guest does not say
    machine.info.open_files = 20'000;
    CHECK(told() == 20'000);
    CHECK(session_text(facts, machine, nullptr).find(", 20,000 open files, ") != std::string::npos);
}
