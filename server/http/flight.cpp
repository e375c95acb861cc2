#include "server/http/flight.hpp"

#include "sandbox/base/small_letters.hpp"

#include <chrono>
#include <utility>

namespace berth::server::http {
namespace {

using transport::Exchange;
using transport::HttpAnswer;

/// An answer that takes longer comes as a stream: its reader sees at once that it was heard, and
/// proxies that no bytes pass for a while do not give it up.
constexpr std::chrono::milliseconds soon{1000};
constexpr std::chrono::milliseconds keep_alive{15'000};
/// Where there is no stream to keep alive, how often is looked whether anybody still waits.
constexpr std::chrono::milliseconds patience{60'000};

constexpr int accepted_status = 202;

std::string event_of(const std::string& message)
{
    return "event: message\ndata: " + message + "\n\n";
}

/// Once.
void leave(Flight& flight)
{
    if (const auto on_gone = std::exchange(flight.on_gone, {})) {
        on_gone();
    }
}

/// The answer comes last, and is returned; empty: there is none.
std::string write_events(Flight& flight, const HttpAnswer::Write& write)
{
    bool reads = true;
    while (reads) {
        switch (flight.exchange->wait(keep_alive)) {
        case Exchange::Event::said:
            reads = write(event_of(flight.exchange->take_said()));
            break;
        case Exchange::Event::answered:
            return event_of(flight.exchange->take_answer());
        case Exchange::Event::ended: // cancelled by another request: there is no answer to it
            flight.exchange->finish(false);
            return {};
        case Exchange::Event::gone:
            reads = false;
            break;
        case Exchange::Event::late:
            reads = write(": still at it\n\n");
        }
    }
    flight.exchange->finish(false);
    leave(flight);
    return {};
}

HttpAnswer stream_of(Flight flight)
{
    HttpAnswer answer{.fields = std::move(flight.fields), .type = "text/event-stream"};
    answer.fields.emplace_back("Cache-Control", "no-cache, no-transform");
    answer.fields.emplace_back("X-Accel-Buffering", "no"); // nginx would hold it back
    auto shared = std::make_shared<Flight>(std::move(flight));
    answer.stream = [shared](const HttpAnswer::Write& write) {
        return write_events(*shared, write);
    };
    // Of one without an answer that is known already; one whose head could not be written was never
    // begun.
    answer.then = [shared](bool written) {
        shared->exchange->finish(written);
        if (!written) {
            leave(*shared);
        }
    };
    return answer;
}

HttpAnswer json_of(Flight flight)
{
    HttpAnswer answer{.fields = std::move(flight.fields),
                      .type = "application/json",
                      .body = flight.exchange->take_answer()};
    answer.fields.emplace_back("Cache-Control", "no-store");
    answer.then = [exchange = flight.exchange, kept = flight.kept](bool written) {
        exchange->finish(written);
    };
    return answer;
}

} // namespace

Accepted accepted_by(const transport::HttpHead& head)
{
    Accepted accepted{.json = false, .events = false};
    bool any = false;
    for (const auto& [name, value] : head.fields) {
        if (name != "accept") {
            continue;
        }
        any = true;
        const auto types = in_small_letters(value);
        accepted.events = accepted.events || types.find("text/event-stream") != std::string::npos ||
                          types.find("text/*") != std::string::npos;
        accepted.json = accepted.json || types.find("application/json") != std::string::npos ||
                        types.find("*/*") != std::string::npos ||
                        types.find("application/*") != std::string::npos;
    }
    accepted.json = accepted.json || !any;
    return accepted;
}

HttpAnswer answer_of(Flight flight)
{
    if (!flight.accepted.json) {
        return stream_of(std::move(flight));
    }
    for (;;) {
        switch (flight.exchange->wait(flight.accepted.events ? soon : patience)) {
        case Exchange::Event::answered:
            return json_of(std::move(flight));
        case Exchange::Event::ended:
            flight.exchange->finish(false);
            return {.status = accepted_status, .fields = std::move(flight.fields)};
        case Exchange::Event::gone:
            flight.exchange->finish(false);
            leave(flight);
            return {.status = accepted_status, .close = true};
        case Exchange::Event::said:
            if (flight.accepted.events) {
                return stream_of(std::move(flight));
            }
            (void)flight.exchange->take_said(); // there is no way to say it
            break;
        case Exchange::Event::late:
            if (flight.accepted.events) {
                return stream_of(std::move(flight));
            }
        }
    }
}

} // namespace berth::server::http
