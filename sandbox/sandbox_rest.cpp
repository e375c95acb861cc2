#include "sandbox/base/error.hpp"
#include "sandbox/late_words.hpp"
#include "sandbox/protocol/call_name.hpp"
#include "sandbox/protocol/wire.hpp"
#include "sandbox/sandbox_calls.hpp"
#include "sandbox/wait_for.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

// A machine that its host has sleep: when, and what goes to its disk before.

namespace berth::sandbox {
namespace {

using protocol::Operation;

constexpr std::chrono::seconds look_time{10};
/// Before another attempt to get one of the connections that the guest gives to all servers.
constexpr std::chrono::milliseconds room_rest{20};

/// Whether it may be otherwise in a moment.
bool may_pass(const Error& error)
{
    if (const auto* unsent = dynamic_cast<const Unsent*>(&error)) {
        return !unsent->is_of_gone();
    }
    return dynamic_cast<const Unanswered*>(&error) != nullptr ||
           error.code() == ErrorCode::session_lost; // of one connection
}

} // namespace

/// On a connection that nothing else is asked on.
Answer ask_on(GuestConnection& connection, Operation operation, const Deadline& deadline,
              std::string_view request)
{
    auto answer = sandbox::exchange(
        connection, {.operation = operation, .request = request, .deadline = deadline});
    if (answer.is_error) {
        throw Error(remote_error(answer.payload));
    }
    return answer;
}

protocol::InfoReply info_in(const Answer& answer)
{
    try {
        return protocol::decode<protocol::InfoReply>(answer.payload);
    } catch (const protocol::WireError& malformed) {
        throw_violation(malformed.what());
    }
}

/// Who only looks may do so twice.
protocol::InfoReply Sandbox::look(const Deadline& deadline)
{
    for (std::size_t again = 0;; ++again) {
        const auto pause = pause_before(again, /*unanswered=*/true);
        try {
            return info_in(ask_any_version(Operation::info, deadline));
        } catch (const Error& error) {
            if (reach_.kept || !pause || !may_pass(error) || deadline.expired()) {
                throw;
            }
        }
        wait_for(*pause, {});
    }
}

protocol::InfoReply Sandbox::glance(const Deadline& deadline, Receipt* shown)
{
    protocol::InfoRequest request;
    request.acknowledge = request.shows_ends = shown != nullptr;
    auto payload = protocol::encode(request);
    protocol::CallName name;
    if (shown != nullptr && !reach_.kept) { // by which it is said later that it was had
        name.name = new_call_name();
        protocol::encode_to(payload, name);
        attends_ = !left_;
    }
    auto introduction = this->introduction();
    introduction.of_any_version = true;
    if (reach_.kept) {
        std::unique_ptr<GuestConnection> connection;
        while (!connection) {
            try {
                connection = try_to_connect(deadline, introduction);
            } catch (const Error& error) {
                if (error.code() != ErrorCode::busy || deadline.expired()) {
                    throw;
                }
                wait_for(room_rest, {});
            }
        }
        auto reply = info_in(ask_on(*connection, Operation::info, deadline, payload));
        if (reply.acknowledge && shown != nullptr) {
            *shown = Receipt(std::move(connection), nullptr); // of no use to other calls
        }
        return reply;
    }
    for (std::size_t again = 0;; ++again) {
        const auto pause = pause_before(again, /*unanswered=*/true);
        try {
            const auto connection = connect_later(deadline, introduction, {}, /*wakes=*/false);
            auto reply = info_in(ask_on(*connection, Operation::info, deadline, payload));
            if (reply.acknowledge && shown != nullptr) {
                *shown = Receipt(std::move(name.name), words_);
            }
            return reply;
        } catch (const Error& error) {
            if (!pause || !may_pass(error) || deadline.expired() || machine_->may_sleep()) {
                throw;
            }
        }
        wait_for(*pause, {});
    }
}

Sandbox::Use::~Use()
{
    auto& sandbox = of_;
    sandbox.last_use_ = BootClock::now();
    if (--sandbox.uses_ > 0 || !sandbox.words_) {
        return;
    }
    if (const auto due = sandbox.rest_due()) {
        sandbox.words_->also_due(*due);
    }
}

void Sandbox::sync(std::chrono::milliseconds patience) noexcept
{
    if (reach_.kept) {
        return;
    }
    try {
        const auto deadline = Deadline::after(patience);
        const auto connection = connect_later(deadline, introduction(), {}, /*wakes=*/false);
        (void)ask_on(*connection, Operation::sync, deadline);
    } catch (const std::exception&) {
        return; // of an earlier release's guest, or a disk that is too slow: it sleeps all the same
    }
}

void Sandbox::rests_after(std::chrono::milliseconds idle) noexcept
{
    rests_after_ = idle;
    machine_->rests_after(idle);
}

std::optional<BootClock::time_point> Sandbox::rest_due() const noexcept
{
    const auto idle = rests_after_.load();
    if (reach_.kept || idle.count() == 0 || left_ || machine_->may_sleep()) {
        return std::nullopt;
    }
    const auto last = uses_ > 0 ? BootClock::now() : last_use_.load();
    return std::max(last + idle, rest_not_before_.load());
}

bool Sandbox::is_used_by_others()
{
    const auto connection =
        connect_later(Deadline::after(look_time), introduction(), {}, /*wakes=*/false);
    const auto info = info_in(ask_on(*connection, Operation::info, Deadline::after(look_time)));
    return !info.pause || info.pause->clients > 1 || info.calls > 0 || !info.jobs.empty();
}

void Sandbox::rest() noexcept
{
    try {
        bool is_used = is_used_by_others();
        if (!is_used) {
            sync(longest_sync);
            is_used = is_used_by_others(); // a job that was begun meanwhile would stand still
        }
        // A call that has begun meanwhile wakes it, and is done once.
        if (const auto due = rest_due(); !is_used && due && *due <= BootClock::now()) {
            (void)machine_->suspend(Deadline::after(look_time));
            return;
        }
    } catch (const std::exception&) { // NOLINT(bugprone-empty-catch): its host stops it, later
    }
    rest_not_before_ = BootClock::now() + rests_after_.load();
}

void Sandbox::tell_host_pause(protocol::InfoReply& info) const
{
    if (machine_->reach().kept || !info.pause) {
        return;
    }
    auto time = machine_->sleeps_in();
    if (const auto due = rest_due()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(
            std::max(*due - BootClock::now(), BootClock::duration(0)));
        time = std::min(time.value_or(left), left);
    }
    if (!time) {
        info.pause->why = protocol::paused_by_host;
    } else if (info.calls == 0 && info.jobs.empty()) {
        info.pause->pauses_in = static_cast<std::uint64_t>(time->count());
    }
}

} // namespace berth::sandbox
