#include "tests/e2b_clients/stage.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <variant>

namespace berth::tests {

using e2b::ProcessEnded;
using e2b::ProcessOutput;
using e2b::ProcessStarted;
using e2b::ProcessStream;

Stage::Stage()
    : api(http, emulator.settings(),
          {.random = [] { return 0.0; },
           .rest = [this](std::chrono::milliseconds time,
                          const std::stop_token&) { waits.push_back(time); }}),
      before_(emulator.books().created), usual_(emulator.set(nlohmann::json::object()))
{
    static_cast<void>(emulator.take_counts());
}

Stage::~Stage()
{
    try {
        CHECK(emulator.faults_left() == 0); // each was met, or the test has proved nothing
        emulator.clear_faults();
        emulator.set(usual_);
        end_all();
    } catch (const std::exception& error) {
        FAIL_CHECK("the books could not be compared: " << error.what());
    }
}

void Stage::end_all()
{
    for (const auto& id : known_) {
        static_cast<void>(api.kill(id, in_time()));
    }
    const auto books = emulator.books();
    CHECK(books.running == std::set<std::string>());
    CHECK(books.paused == std::set<std::string>());
    CHECK(unknown() == std::set<std::string>());
    CHECK(emulator.take_counts()["idempotency-key"] == 0);
}

e2b::Box Stage::create(const e2b::BoxRequest& request)
{
    auto box = api.create(request, in_time());
    know(box.id);
    return box;
}

std::set<std::string> Stage::unknown()
{
    std::set<std::string> found;
    for (const auto& id : emulator.books().created) {
        if (!known_.contains(id) && !before_.contains(id)) {
            found.insert(id);
        }
    }
    return found;
}

e2b::EnvdClient Stage::envd(const e2b::Box& box, e2b::EnvdTimes times)
{
    return {http,
            {.endpoint = e2b::envd_endpoint(emulator.settings(), box.id, box.domain),
             .sandbox_id = box.id,
             .token = box.envd_token,
             .version = box.envd_version},
            times};
}

Outcome outcome_of(ProcessStream& stream, const Deadline& deadline)
{
    Outcome outcome;
    while (const auto event = stream.next(deadline)) {
        if (const auto* started = std::get_if<ProcessStarted>(&*event)) {
            outcome.pid = started->pid;
        } else if (const auto* output = std::get_if<ProcessOutput>(&*event)) {
            (output->stream == ProcessOutput::Stream::error ? outcome.error : outcome.out) +=
                output->bytes;
        } else if (const auto* ended = std::get_if<ProcessEnded>(&*event)) {
            outcome.ended = *ended;
        }
    }
    return outcome;
}

e2b::Pid pid_of(ProcessStream& stream)
{
    const auto event = stream.next(in_time());
    REQUIRE(event);
    const auto* started = std::get_if<ProcessStarted>(&*event);
    REQUIRE(started != nullptr);
    return started->pid;
}

std::string output_of(ProcessStream& stream, std::size_t size)
{
    std::string out;
    while (out.size() < size) {
        const auto event = stream.next(in_time());
        REQUIRE(event);
        if (const auto* output = std::get_if<ProcessOutput>(&*event)) {
            out += output->bytes;
        }
    }
    return out;
}

e2b::ProcessStart shell(std::string line)
{
    return {.command = "/bin/bash", .arguments = {"-c", std::move(line)}, .stdin_open = false};
}

e2b::ProcessStart reading(std::string line)
{
    auto start = shell(std::move(line));
    start.stdin_open = true;
    return start;
}

Outcome run(e2b::EnvdClient& envd, std::string line)
{
    auto stream = envd.start(shell(std::move(line)));
    return outcome_of(stream);
}

} // namespace berth::tests
