#include "server/http/metrics.hpp"

#include "server/http/process_figures.hpp"
#include "server/log.hpp"
#include "server/version.hpp"

#include <array>
#include <exception>
#include <string_view>

namespace berth::server::http {
namespace {

/// For so long the states of sessions are told as they were found: whoever asks often, and there
/// may be several, does not have every machine asked each time.
constexpr std::chrono::seconds states_hold{15};

constexpr std::array<std::string_view, 8> all_states{"creating", "running", "paused",  "ended",
                                                     "lost",     "damaged", "unknown", "absent"};

} // namespace

std::string Metrics::text()
{
    MetricText text;
    write_server(text);
    parts_.calls.write(text);
    write_traffic(text);
    write_sessions(text);
    write_process_figures(text, started_);
    return text.take();
}

void Metrics::write_server(MetricText& text) const
{
    text.family("berth_info", "gauge", "The server; always 1.");
    text.sample("berth_info",
                {{"version", version}, {"commit", commit}, {"backend", parts_.backend}},
                std::uint64_t{1});
    text.gauge("berth_available", "Whether a sandbox can be made.",
               std::uint64_t{parts_.unavailable().empty() ? 1U : 0U});
    const auto load = parts_.workers.load();
    text.gauge("berth_calls_in_flight", "Requests of MCP that are being worked on.",
               std::uint64_t{load.threads - load.idle});
    text.gauge("berth_calls_in_flight_limit", "So many at most; more wait.",
               std::uint64_t{load.limit});
    text.gauge("berth_calls_waiting", "Requests of MCP that wait for a place.",
               std::uint64_t{load.waiting});
}

void Metrics::write_traffic(MetricText& text) const
{
    const auto& server = parts_.server;
    const auto& settings = server.settings();
    text.gauge("berth_http_connections", "Open connections.", std::uint64_t{server.connections()});
    text.gauge("berth_http_connections_limit", "So many at most.",
               std::uint64_t{settings.connections});
    text.gauge("berth_http_requests_in_flight", "Requests of HTTP that are being answered.",
               std::uint64_t{server.busy()});
    text.gauge("berth_http_body_bytes", "Bodies of requests that are held, in bytes.",
               std::uint64_t{server.body_bytes()});
    text.gauge("berth_http_body_bytes_limit", "So many at most.", std::uint64_t{settings.bodies});
    const auto& traffic = server.traffic();
    text.counter("berth_http_received_bytes_total", "Read from connections.",
                 traffic.bytes_received());
    text.counter("berth_http_sent_bytes_total", "Written to connections.", traffic.bytes_sent());
    text.family("berth_http_answers_total", "counter", "Answers, by status.");
    traffic.for_each_status([&](int status, std::uint64_t count) {
        text.sample("berth_http_answers_total", {{"status", std::to_string(status)}}, count);
    });
}

void Metrics::write_sessions(MetricText& text)
{
    text.gauge("berth_served_sessions", "Sessions in this server's hands, with a machine or not.",
               std::uint64_t{parts_.tenants.count()});
    text.gauge("berth_legacy_clients", "Clients of older revisions that have a session.",
               std::uint64_t{parts_.legacy.count()});
    const auto found = states();
    text.gauge("berth_books_available", "Whether the books of sessions can be asked.",
               std::uint64_t{found ? 1U : 0U});
    if (!found) {
        return;
    }
    text.family("berth_sessions", "gauge",
                "Sessions of the state directory or registry, of all its servers, by state.");
    for (const auto state : all_states) {
        const auto count = found->find(std::string(state));
        text.sample("berth_sessions", {{"state", state}},
                    count == found->end() ? std::uint64_t{0} : count->second);
    }
}

bool Metrics::was_asked()
{
    const std::lock_guard lock(mutex_);
    return asked_ != Clock::time_point();
}

/// Whoever comes while another one asks has what was found before, and waits for the first of it:
/// to say that there is none would be an alarm.
std::optional<Metrics::States> Metrics::states()
{
    std::unique_lock asking(asking_, std::defer_lock);
    if (!was_asked()) {
        asking.lock();
    } else if (!asking.try_lock()) {
        const std::lock_guard lock(mutex_);
        return states_;
    }
    {
        const std::lock_guard lock(mutex_);
        const bool is_fresh = asked_ != Clock::time_point() && Clock::now() - asked_ < states_hold;
        if (is_fresh) {
            return states_;
        }
    }
    std::optional<States> found;
    try {
        found.emplace();
        for (const auto& facts : parts_.sessions()) {
            ++(*found)[facts.state];
        }
    } catch (const std::exception& error) {
        found.reset();
        log::write(log::Level::warning, "sessions cannot be counted now",
                   {{"error", error.what()}});
    }
    const std::lock_guard lock(mutex_);
    states_ = found;
    asked_ = Clock::now();
    return found;
}

} // namespace berth::server::http
