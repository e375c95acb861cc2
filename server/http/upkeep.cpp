#include "server/http/upkeep.hpp"

#include "sandbox/base/deadline.hpp"
#include "server/log.hpp"

#include <exception>
#include <utility>

namespace berth::server::http {
namespace {

constexpr std::chrono::seconds upkeep_interval{1};
constexpr std::chrono::hours collect_interval{1};
constexpr std::chrono::seconds collect_time{60};
constexpr std::chrono::seconds availability_holds{10};

session::Settings collector_settings(const Making& making)
{
    auto settings = making.options->sessions;
    making.tell_of_sessions(settings, making.options->workspace);
    return settings;
}

std::size_t collect(session::SessionManager& manager, const std::stop_token& stop)
{
    try {
        return manager
            .collect_leftovers(Deadline::after(collect_time), stop, {.old = true, .older_than = {}})
            .late;
    } catch (const std::exception& error) { // the books may be away; it is tried again
        log::write(log::Level::warning, "what is dead cannot be cleared up now",
                   {{"backend", std::string(manager.backend().name())}, {"error", error.what()}});
        return 0;
    }
}

} // namespace

Upkeep::Upkeep(const Making& making, LiveSettings& settings, LegacySessions& sessions,
               Others others)
    : backend_(*making.backend), settings_(settings),
      manager_(collector_settings(making), making.backend), sessions_(sessions),
      others_(std::move(others)), thread_([this](const std::stop_token& stop) { run(stop); })
{
}

Upkeep::~Upkeep()
{
    thread_.request_stop();
    thread_.join();
}

void Upkeep::run(const std::stop_token& stop)
{
    std::unique_lock lock(mutex_);
    auto collects = Clock::now();
    while (!stop.stop_requested()) {
        follow_settings();
        if (Clock::now() >= collects) {
            // Sooner where a machine may still come: one that nobody uses costs.
            collects = Clock::now() + late_.next(collect_all(stop)).value_or(collect_interval);
        }
        sessions_.sweep();
        stopping_.wait_for(lock, stop, upkeep_interval, [] { return false; });
    }
}

/// Also while nobody calls: what was right for a moment holds, whatever follows it.
void Upkeep::follow_settings() noexcept
{
    try {
        manager_.change(settings_.options()->sessions);
    } catch (const std::exception& error) { // no memory; it is tried again
        log::write(log::Level::warning, "changed settings cannot be followed now",
                   {{"error", error.what()}});
    }
}

std::size_t Upkeep::collect_all(const std::stop_token& stop)
{
    std::size_t late = collect(manager_, stop);
    for (auto* const manager : others_ ? others_() : std::vector<session::SessionManager*>()) {
        if (!stop.stop_requested()) {
            sessions_.sweep(); // whoever does not answer may take a minute
            late += collect(*manager, stop);
        }
    }
    return late;
}

std::string Upkeep::unavailable()
{
    const std::lock_guard lock(trying_);
    if (const auto now = Clock::now();
        tried_ == Clock::time_point() || now - tried_ > availability_holds) {
        const auto found = backend_.availability();
        unavailable_ = found.available ? "" : found.reason + "\n" + found.remedy;
        tried_ = now;
    }
    return unavailable_;
}

} // namespace berth::server::http
