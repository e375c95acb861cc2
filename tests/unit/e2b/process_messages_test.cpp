#include "sandbox/base/error.hpp"
#include "sandbox/e2b/process_messages.hpp"
#include "tests/unit/e2b/golden.hpp"
#include "tests/unit/error_of.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <variant>

using berth::ErrorCode;
using berth::e2b::input_begin_message;
using berth::e2b::input_data_message;
using berth::e2b::input_message;
using berth::e2b::input_quiet_message;
using berth::e2b::parse_event;
using berth::e2b::parse_processes;
using berth::e2b::process_message;
using berth::e2b::ProcessEnded;
using berth::e2b::ProcessOutput;
using berth::e2b::ProcessQuiet;
using berth::e2b::ProcessSignal;
using berth::e2b::ProcessStarted;
using berth::e2b::signal_message;
using berth::e2b::start_message;
using nlohmann::json;
namespace golden = berth::tests::golden;
using berth::tests::error_of;

namespace {

json of(std::string_view text)
{
    return json::parse(text);
}

} // namespace

TEST_CASE("messages say what the official client's say")
{
    CHECK(of(start_message({.command = "/bin/bash",
                            .arguments = {"-l", "-c", "echo hi"},
                            .stdin_open = false})) == of(golden::start_request.substr(5)));
    CHECK(of(input_message(16521, "ping\n")) == of(golden::send_input));
    CHECK(of(process_message(16521)) == of(golden::close_stdin));
    CHECK(of(signal_message(16598, ProcessSignal::kill)) == of(golden::send_signal));
    CHECK(of(signal_message(1, ProcessSignal::terminate)).at("signal") == "SIGNAL_SIGTERM");
}

TEST_CASE("a start says all that it has, and stdin always")
{
    const auto whole = of(start_message({.command = "c",
                                         .arguments = {},
                                         .environment = {{"X", "y"}},
                                         .working_directory = "/tmp",
                                         .user = "root",
                                         .tag = "t"}));
    CHECK(whole == of(R"({"process":{"cmd":"c","args":[],"envs":{"X":"y"},"cwd":"/tmp"},)"
                      R"("tag":"t","stdin":true})"));
}

TEST_CASE("bytes of a stream of input are base64")
{
    CHECK(of(input_begin_message(7)) == of(R"({"start":{"process":{"pid":7}}})"));
    const std::string bytes("\x00\xff\n", 3);
    CHECK(of(input_data_message(bytes)) == of(R"({"data":{"input":{"stdin":"AP8K"}}})"));
    CHECK(of(input_quiet_message()) == of(R"({"keepalive":{}})"));
}

TEST_CASE("captured events are understood")
{
    const auto started = parse_event(R"({"event":{"start":{"pid":16274}}})");
    CHECK(std::get<ProcessStarted>(started).pid == 16274);
    const auto output = std::get<ProcessOutput>(parse_event(golden::error_output.substr(5)));
    CHECK(output.stream == ProcessOutput::Stream::error);
    CHECK(output.bytes == "err\n");
    CHECK(std::holds_alternative<ProcessQuiet>(parse_event(golden::quiet.substr(5))));
    const auto failed = std::get<ProcessEnded>(parse_event(golden::exit_3.substr(5)));
    CHECK(failed.exit_code == 3);
    CHECK(failed.exited);
    CHECK(failed.status == "exit status 3");
    CHECK(failed.error == "exit status 3");
    const auto killed = std::get<ProcessEnded>(parse_event(golden::killed.substr(5)));
    CHECK(killed.exit_code == -1);
    CHECK_FALSE(killed.exited);
}

TEST_CASE("what is zero may be left out, and what is not known is passed over")
{
    CHECK(std::get<ProcessEnded>(parse_event(R"({ "event" : { "end" : {} } })")).exit_code == 0);
    CHECK(std::get<ProcessOutput>(parse_event(R"({"event":{"data":{}}})")).bytes.empty());
    CHECK(std::holds_alternative<ProcessQuiet>(parse_event(R"({"event":{"new":{"a":1}}})")));
    CHECK(std::holds_alternative<ProcessQuiet>(parse_event("{}")));
    CHECK(std::get<ProcessOutput>(parse_event(R"({"event":{"data":{"pty":"aGkK"}}})")).stream ==
          ProcessOutput::Stream::terminal);
}

TEST_CASE("what is no event is an error, and no guess")
{
    for (const std::string payload :
         {"", "x", "[]", R"({"event":{"start":{"pid":"seven"}}})",
          R"({"event":{"start":{"pid":-1}}})", R"({"event":{"start":{"pid":4294967296}}})",
          R"({"event":{"start":{"pid":18446744073709551615}}})",
          R"({"event":{"start":{"pid":1.5}}})", R"({"event":{"data":{"stdout":"aGk"}}})",
          R"({"event":{"end":{"exitCode":2147483648}}})"}) {
        CAPTURE(payload);
        CHECK(error_of([&] { static_cast<void>(parse_event(payload)); }) ==
              ErrorCode::backend_error);
    }
    CHECK(error_of([&] { static_cast<void>(parse_event(std::string(100'000, '['))); }) ==
          ErrorCode::backend_error);
}

TEST_CASE("the captured list of processes is understood")
{
    const auto processes = parse_processes(golden::list_answer);
    REQUIRE(processes.size() == 1);
    CHECK(processes[0].pid == 16598);
    CHECK(processes[0].command == "/bin/bash");
    CHECK(processes[0].arguments == std::vector<std::string>{"-l", "-c", "sleep 30"});
    CHECK(processes[0].tag.empty());
    CHECK(parse_processes("{}").empty());
    CHECK(parse_processes(R"({"processes":[{"pid":1,"tag":"t"}]})")[0].tag == "t");
    CHECK(error_of([] { static_cast<void>(parse_processes("x")); }) == ErrorCode::backend_error);
    CHECK(error_of([] { static_cast<void>(parse_processes(R"({"processes":[1]})")); }) ==
          ErrorCode::backend_error);
}
