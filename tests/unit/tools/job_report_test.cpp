#include "tests/unit/tools/schema_validator.hpp"
#include "tools/bash_exec.hpp"
#include "tools/bash_input.hpp"
#include "tools/bash_kill.hpp"
#include "tools/bash_output.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <string>

using namespace berth::tools; // NOLINT(google-build-using-namespace): the tested namespace
namespace protocol = berth::protocol;

namespace {

protocol::JobState running()
{
    protocol::JobState state;
    state.job_id = "job-1";
    state.command = "make\xff";
    state.running = true;
    state.processes = 2;
    state.age = 12'300;
    state.remaining = 90'000;
    return state;
}

protocol::JobState ended(std::int32_t exit_code)
{
    auto state = running();
    state.running = false;
    state.shell_ended = true;
    state.exit_code = exit_code;
    state.processes = 0;
    state.remaining.reset();
    return state;
}

protocol::JobOutputReply reply(const protocol::JobState& state, const std::string& out,
                               const std::string& err = "")
{
    protocol::JobOutputReply result;
    result.state = state;
    for (auto& [stream, text] : {std::pair(&result.out, &out), std::pair(&result.err, &err)}) {
        stream->text.head = *text;
        stream->text.total_bytes = text->size();
        stream->end = text->size();
        stream->written = text->size();
    }
    result.cursor = std::to_string(out.size()) + "-" + std::to_string(err.size());
    return result;
}

void check_schema(std::string_view tool, const Result& result)
{
    auto data = *result.data;
    data["session"] = "s";
    data["backend"] = "local";
    data["ok"] = true;
    CHECK(test::schema_complaint(find_tool(tool)->output_schema, data) == "");
}

std::string text_of(const protocol::JobOutputReply& told, const std::string& filter = "")
{
    BashOutput::Args args;
    args.job_id = "job-1";
    args.filter = filter;
    const auto result = BashOutput::render(args, told, Settings{});
    check_schema("bash_output", result);
    return result.text;
}

} // namespace

TEST_CASE("a job's output: its state first, what to call next last")
{
    CHECK(text_of(reply(running(), "out\n", "err\n")) ==
          "[job-1 running · 12.3 s · 2 processes · stopped in 90 s at the latest]\n"
          "out\n[stderr]\nerr\n"
          "[next: bash_output {\"job_id\": \"job-1\", \"since\": \"4-4\", \"wait\": 30}]");
    CHECK(text_of(reply(ended(3), "out\n")) == "[job-1 ended: exit 3 · 12.3 s]\nout\n");
}

TEST_CASE("nothing to show is told as what it is")
{
    CHECK(text_of(reply(ended(0), "")) == "[job-1 ended: exit 0 · 12.3 s]\n(no output)");
    CHECK(text_of(reply(running(), "")).find("]\n(no output yet)\n[next: ") != std::string::npos);
    auto later = reply(running(), "");
    later.out.begin = 5;
    later.out.end = 5;
    later.out.written = 8;
    CHECK(text_of(later).find("(nothing new)") != std::string::npos);
    CHECK(text_of(later).find("an unfinished line of 3 bytes is held back") != std::string::npos);
    later.out.filtered_lines = 2;
    const auto filtered = text_of(later, "a\"b\xff");
    CHECK(filtered.find("2 lines without a match left out") != std::string::npos);
    CHECK(filtered.find("(no new line matches)") != std::string::npos);
    CHECK(filtered.find("\"filter\": \"a\\\"b") != std::string::npos);
}

TEST_CASE("what a filter was too slow for is told, with the call that goes on there")
{
    auto slow = reply(ended(0), "x\n");
    slow.out.written = 5'000'002;
    slow.out.unjudged = 5'000'000;
    const auto text = text_of(slow, "x");
    CHECK(text.find("stdout: the filter was too slow for the last 5.0 MB, which the cursor leaves "
                    "to the next call") != std::string::npos);
    CHECK(text.find("held back") == std::string::npos);
    CHECK(text.find("\n[next: bash_output {\"job_id\": \"job-1\", ") != std::string::npos);
}

TEST_CASE("how a job ended and who ended it")
{
    auto state = ended(143);
    state.fate = protocol::Fate::signaled;
    state.signal = SIGTERM;
    state.ended_by = "kill";
    CHECK(text_of(reply(state, "x"))
              .starts_with("[job-1 ended: killed by SIGTERM (exit 143) · on request · 12.3 s]"));
    state = ended(-1);
    state.fate = protocol::Fate::timed_out;
    state.ended_by = "deadline";
    state.survivors = 1;
    CHECK(text_of(reply(state, "x"))
              .starts_with("[job-1 ended: timed out · stopped at its deadline, 1 process could not "
                           "be stopped · "));
    state = running();
    state.shell_ended = true;
    CHECK(text_of(reply(state, "x")).starts_with("[job-1 running on: its shell ended with exit 0"));
}

TEST_CASE("what is missing is counted, and where it is")
{
    auto told = reply(ended(0), std::string(40'000, 'x'));
    told.out.dropped = 5000;
    told.out.text.spill_path = "/var/tmp/3.stdout";
    told.out.text.spill_bytes = 40'000;
    auto text = text_of(told);
    CHECK(text.find("stdout: 5.0 KB are kept no more") != std::string::npos);
    CHECK(text.find("stdout 40.0 KB, middle left out, whole in /var/tmp/3.stdout") !=
          std::string::npos);
    CHECK(text.size() < 31'000);
    told.out.text.spill_bytes = 30'000;
    told.out.text.spill_error = "the disk is full";
    CHECK(text_of(told).find("bytes 0 to 30,000 in /var/tmp/3.stdout · the disk is full") !=
          std::string::npos);
    told.out.spill_begin = 5000;
    CHECK(text_of(told).find("bytes 5,000 to 35,000 in /var/tmp/3.stdout; a since of any two byte "
                             "numbers pages what is older") != std::string::npos);
}

TEST_CASE("what the guest says of itself is shown, not obeyed")
{
    auto told = reply(running(), "x");
    told.state.job_id = "job-1\x1b[2J\xff";
    told.cursor = "1-0\x1b]0;\xff";
    const auto text = text_of(told);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find('\xff') == std::string::npos);
    protocol::JobKillReply killed;
    killed.state = told.state;
    const auto result = BashKill::render({}, killed);
    CHECK(result.text.find('\x1b') == std::string::npos);
    CHECK_NOTHROW((void)result.data->dump());
}

TEST_CASE("input and kill say what came of it")
{
    BashInput::Args input;
    input.close = true;
    protocol::JobInputReply sent;
    sent.state = running();
    sent.taken = 3;
    sent.waiting = 2;
    const auto told = BashInput::render(input, sent);
    check_schema("bash_input", told);
    CHECK(told.text.starts_with(
        "Sent 3 bytes to job-1, and an end of file; 2 bytes wait until it reads on\n[job-1 run"));
    protocol::JobKillReply killed;
    killed.state = ended(0);
    BashKill::Args args;
    args.signal = SIGTERM;
    const auto already = BashKill::render(args, killed);
    check_schema("bash_kill", already);
    CHECK(already.text.starts_with("Nothing to end: job-1 ended: exit 0\n"));
    killed.signalled = 2;
    CHECK(BashKill::render(args, killed).text.starts_with("[job-1 ended: exit 0"));
    killed.state = running();
    args.signal = SIGHUP;
    CHECK(BashKill::render(args, killed)
              .text.starts_with("SIGHUP was sent to 2 processes of job-1\n"));
}

TEST_CASE("bash_exec says how a job is reached")
{
    protocol::ExecuteReply started;
    started.background = true;
    started.exit_code = -1;
    started.job_id = "job-1";
    started.job_cursor = "0-0";
    started.job_remaining = 1'800'000;
    const auto result = BashExec::render(started, std::chrono::seconds(1800), Settings{});
    check_schema("bash_exec", result);
    CHECK(result.text ==
          "[running in the background as job-1 · stopped in 30 min at the latest · bash_output "
          "{\"job_id\": \"job-1\", \"wait\": 30} shows what it prints, bash_kill ends it]");
    CHECK(result.data->at("fate") == "running");
    started.duration = 120'000;
    started.job_cursor = "4-0";
    started.out.head = "out\n";
    started.out.total_bytes = 4;
    const auto moved = BashExec::render(started, std::chrono::seconds(120), Settings{});
    check_schema("bash_exec", moved);
    CHECK(moved.text.starts_with(
        "out\n[still running after 2 min 0 s: it goes on in the background as job-1 · stopped in"));
    CHECK(moved.text.find("\"since\": \"4-0\"") != std::string::npos);
    CHECK(moved.data->at("timed_out") == false);
}
