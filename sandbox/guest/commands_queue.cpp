#include "sandbox/base/error.hpp"
#include "sandbox/guest/commands_state.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <utility>

// Commands that wait for a place among those that may run at once (session.calls). Each server
// queues its own at its end of the connections; here the servers of a session take turns, or one
// that always has a command ready would keep every other from running any.

namespace berth::guest {
namespace {

/// Ends of calls by which is judged when the next one comes: so many, and no older than that.
constexpr std::size_t judged_by = 8;
constexpr std::size_t judged_by_least = 3;
constexpr std::chrono::minutes of_late{1};

std::uint64_t whole_seconds(BootClock::duration time)
{
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(time).count()));
}

auto has_id(const std::string& id)
{
    return [&id](const auto& command) { return command.request.id == id; };
}

} // namespace

bool Commands::State::has_place() const
{
    return config.max_calls == 0 || call_count() < config.max_calls;
}

bool Commands::State::is_queued(const std::string& id) const
{
    return queue.contains(has_id(id));
}

void Commands::State::queue_up(Delayed command, const std::string& asker)
{
    // Of time in which the host was awake: else all that wait would be refused after a suspension.
    const std::string id = command.request.id;
    command.timer = host.loop.call_awake(queue_patience, [this, id] { give_up(id); });
    const auto timer = command.timer;
    if (!queue.push(askers, asker, std::move(command))) {
        host.loop.cancel(timer);
        throw too_many_calls("others wait for a place already.");
    }
}

void Commands::State::serve_queue_soon()
{
    if (!queue.empty()) {
        // Later: whoever tells of a place is in the middle of ending its command.
        host.loop.post([this] { serve_queue(); });
    }
}

void Commands::State::serve_queue()
{
    while (!queue.empty() && has_place()) {
        const Delayed next = queue.pop(askers);
        host.loop.cancel(next.timer);
        try {
            begin(next);
        } catch (...) {
            (void)refuse(next, std::current_exception());
        }
    }
}

void Commands::State::call_ended()
{
    recent_ends.push_back(BootClock::now());
    if (recent_ends.size() > judged_by) {
        recent_ends.pop_front();
    }
    serve_queue_soon();
}

std::optional<std::uint64_t> Commands::State::place_expected() const
{
    const auto now = BootClock::now();
    if (recent_ends.size() < judged_by_least || now - recent_ends.front() > of_late) {
        return std::nullopt;
    }
    const auto each = (now - recent_ends.front()) / static_cast<std::int64_t>(recent_ends.size());
    return whole_seconds(each * static_cast<std::int64_t>(queue.size() + 1));
}

std::optional<Commands::State::Delayed> Commands::State::take_queued(const std::string& id)
{
    auto found = queue.take(has_id(id));
    if (found) {
        host.loop.cancel(found->timer);
    }
    return found;
}

void Commands::State::give_up(const std::string& id)
{
    serve_queue(); // a place may be there that was not told of yet
    if (const auto command = take_queued(id)) {
        const auto waited = std::chrono::ceil<std::chrono::seconds>(queue_patience).count();
        command->done({}, std::make_exception_ptr(too_many_calls(
                              "it waited " + std::to_string(waited) + " s for a place.")));
    }
}

std::optional<std::string> Commands::State::detach_queued(const std::string& id)
{
    auto command = take_queued(id);
    if (!command) {
        return std::nullopt;
    }
    const auto error = std::make_exception_ptr(
        Error(Error(ErrorCode::conflict,
                    "it was not run: its connection ended while it waited for a place among the "
                    "commands that may run at once (session.calls)",
                    "Nothing of it was done: call again if it is still wanted.")
                  .set_retryable(false)));
    command->done({}, error); // whoever comes back for it all the same
    command->detached = true;
    return refuse(*command, error);
}

} // namespace berth::guest
