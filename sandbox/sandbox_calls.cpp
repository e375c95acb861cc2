#include "sandbox/sandbox_calls.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/call_errors.hpp"
#include "sandbox/late_words.hpp"
#include "sandbox/protocol/call_name.hpp"
#include "sandbox/protocol/wire.hpp"
#include "sandbox/wait_for.hpp"
#include "sandbox/watched_data.hpp"

#include <chrono>
#include <thread>
#include <utility>

// From a call to its answer: on which connection, and what becomes of it when that breaks.

namespace berth::sandbox {
namespace {

using protocol::Operation;

constexpr std::chrono::milliseconds retry_time{20};
/// Of a guest that is stuck the first call says so.
constexpr std::chrono::seconds attend_time{1};
constexpr std::chrono::seconds attend_again{1};

/// Before another attempt to get one of the connections that the guest gives to all servers.
void wait_for_room(const Error& refusal, const Deadline& patience, const std::stop_token& stop)
{
    if (stop.stop_requested()) {
        throw_not_begun();
    }
    if (patience.expired()) {
        throw Error(ErrorCode::busy, refusal.what(),
                    "Other servers of this session use them all. Wait for their calls to end.");
    }
    std::this_thread::sleep_for(retry_time);
}

/// Nothing is ever said on it: what is to be read is its end.
bool is_open(GuestConnection& connection) noexcept
{
    try {
        return !connection.receive(Deadline::after({}));
    } catch (const std::exception&) {
        return false;
    }
}

/// Without a name, which a call needs that shall not be done twice.
bool reads_alone(const Exchange& exchange) noexcept
{
    return exchange.name.empty() && protocol::only_reads(exchange.operation);
}

/// Throws unless a call that has not begun is to be sent again. A guest that has not had the whole
/// frame has done nothing. The idle connection of a guest that lives may have been closed; a new
/// one tells.
void require_another(const Error& broken, bool unanswered, bool is_time, Operation operation)
{
    if (unanswered && !is_time) {
        throw_not_sent(broken, operation);
    }
    if (!unanswered && !tells_of_a_loss(broken)) {
        throw Error(broken);
    }
    if (!is_time) {
        throw Unsent(broken);
    }
}

} // namespace

Introduction Sandbox::introduction() const
{
    Introduction introduction{
        .token = token_, .generation = machine_->record().generation, .server = server_};
    if (!reach_.kept && attends_) {
        introduction.lease = reach_.lease;
    }
    return introduction;
}

/// A connection that is made with the request, and what is to be said late with it.
std::unique_ptr<GuestConnection> Sandbox::connect_later(const Deadline& deadline,
                                                        const Introduction& introduction,
                                                        const std::stop_token& stop, bool wakes)
{
    auto opening = [this, deadline, stop, wakes](std::string_view first) {
        return wakes ? machine_->open(deadline, first, token_, stop)
                     : machine_->open_awake(deadline, first, token_);
    };
    auto connection = std::make_unique<GuestConnection>(std::move(opening), reach_.opening);
    auto complete = introduction;
    complete.words = words_->some();
    const bool renews = complete.lease.has_value();
    connection->on_welcome([words = words_, said = complete.words, renews] {
        words->told(said);
        if (renews) {
            words->renewed();
        }
    });
    connection->say_hello(complete, deadline);
    return connection;
}

Sandbox::Borrowed Sandbox::borrow(bool fresh, const Exchange& exchange)
{
    if (attends_) {
        keep_attending();
    }
    if (!fresh && given_up_.empty()) { // which a hello says
        if (auto connection = idle_->take()) {
            return {std::move(connection), true};
        }
    }
    return {connect(stop_of_way(exchange), exchange.deadline, exchange.way), false};
}

/// The guest refuses a connection above its number, which other servers of the session may use up;
/// one that was closed a moment ago still counts there.
std::unique_ptr<GuestConnection>
Sandbox::connect(const std::stop_token& stop, const Deadline& until, std::chrono::milliseconds way)
{
    const auto patience = Deadline::earlier(Deadline::after(way), until);
    for (;;) {
        try {
            return try_to_connect(Deadline::earlier(Deadline::after(way), until), introduction(),
                                  stop);
        } catch (const Error& error) {
            const bool busy = error.code() == ErrorCode::busy;
            if (stop.stop_requested() && (busy || error.code() == ErrorCode::session_lost)) {
                throw_not_begun();
            }
            if (!busy) {
                throw;
            }
            wait_for_room(error, patience, stop);
        }
    }
}

std::unique_ptr<GuestConnection> Sandbox::try_to_connect(const Deadline& deadline,
                                                         const Introduction& introduction,
                                                         const std::stop_token& stop)
{
    if (!reach_.kept) {
        return connect_later(deadline, introduction, stop);
    }
    try {
        auto connection = std::make_unique<GuestConnection>(machine_->connect(deadline));
        const std::stop_callback on_stop(stop, [&] { connection->shutdown(); });
        auto complete = introduction;
        complete.words.given_up = given_up_.all();
        connection->say_hello(complete, deadline);
        given_up_.heard(complete.words.given_up);
        return connection;
    } catch (const Error& error) {
        if (tells_of_a_loss(error)) {
            throw Unsent(error);
        }
        throw;
    }
}

/// Asked on a connection of its own; that all are taken is an answer, too, and of a guest that is
/// gone the connection of the call tells.
bool Sandbox::is_alive() const
{
    const auto deadline = Deadline::after(patience_);
    try {
        GuestConnection connection(machine_->connect(deadline));
        connection.say_hello(introduction(), deadline);
        return true;
    } catch (const std::exception&) {
        return !deadline.expired();
    }
}

bool Sandbox::left(const Exchange& exchange) const noexcept
{
    return exchange.leaving != nullptr && leaving_ && exchange.stop.stop_requested();
}

Sandbox::Answered Sandbox::ask(const Exchange& asked)
{
    const auto& stop = stop_of_way(asked);
    if (stop.stop_requested()) {
        throw_not_begun();
    }
    try {
        return ask_again(asked);
    } catch (const Unsent&) {
        if (stop.stop_requested()) {
            throw_not_begun();
        }
        throw;
    }
}

Sandbox::Answered Sandbox::ask_again(const Exchange& asked)
{
    const Watched<DataSource> source(asked.source);
    const Watched<DataSink> sink(asked.sink);
    Exchange exchange = asked;
    exchange.source = source.get();
    exchange.sink = sink.get();
    const bool reads = !reach_.kept && reads_alone(asked); // one that is kept breaks with its guest
    const auto patience = Deadline::earlier(Deadline::after(exchange.way), exchange.deadline);
    Borrowed borrowed = borrow(/*fresh=*/false, exchange);
    for (std::size_t again = 0;; ++again) {
        try {
            return take_answer(std::move(borrowed.connection), exchange);
        } catch (const Broken& broken) {
            attending_doubted_ = true;
            if (left(exchange)) {
                throw_left(broken.begun());
            }
            const auto pause = pause_before(again, broken.is_unanswered());
            if (reads && (sink.given() || (broken.begun() && !pause))) { // nothing takes it back
                throw_not_read(broken, exchange.operation);
            }
            if (broken.begun() && !reads) {
                if (exchange.name.empty() || !broken.repeats()) {
                    throw_unknown(broken, exchange.operation);
                }
                return repeat(exchange, broken, source.given());
            }
            if (source.given()) {
                throw_data_lost();
            }
            if (broken.code() == ErrorCode::busy) { // refused with its hello
                wait_for_room(broken, patience, exchange.stop);
                again = 0;
                borrowed = borrow(/*fresh=*/true, exchange);
                continue;
            }
            require_another(broken, broken.is_unanswered(), pause.has_value(), exchange.operation);
            wait_for(*pause, exchange.stop);
        }
        borrowed = borrow(/*fresh=*/true, exchange);
    }
}

Sandbox::Answered Sandbox::take_answer(std::unique_ptr<GuestConnection> connection,
                                       const Exchange& exchange)
{
    try {
        auto answer = sandbox::exchange(*connection, exchange);
        if (answer.unseen) {
            unseen_ = true;
        }
        if (words_) {
            words_->renewed(); // the guest counts from here as well
        }
        if (!answer.reusable || !reach_.kept) {
            connection.reset();
        }
        return {std::move(answer), std::move(connection)};
    } catch (const Unsent&) {
        throw;
    } catch (const Unanswered& error) {
        throw Broken(error, connection->request_sent(), connection->repeats(), /*unanswered=*/true);
    } catch (const Refused& refusal) {
        throw Broken(refusal, /*begun=*/false, connection->repeats());
    } catch (const Error& error) {
        if (error.code() != ErrorCode::session_lost && connection->is_made()) {
            ask_no_more(exchange, error.code() == ErrorCode::cancelled);
            throw;
        }
        throw Broken(error, connection->request_sent(), connection->repeats());
    }
}

void Sandbox::attend() noexcept
{
    attends_ = true;
    keep_attending();
}

void Sandbox::keep_attending() noexcept
{
    if (!reach_.kept) {
        return; // the hello of each call says it
    }
    const std::unique_lock lock(attending_mutex_, std::try_to_lock);
    if (!lock) {
        return;
    }
    const bool doubted = attending_doubted_.exchange(false) && attending_;
    if (!doubted && BootClock::now() < attend_again_) {
        return;
    }
    attend_again_ = BootClock::now() + attend_again;
    if (attending_ && is_open(*attending_)) {
        return;
    }
    attending_.reset(); // else the guest would take this server for gone from now on
    try {
        auto introduction = this->introduction();
        introduction.as_client = true;
        attending_ = try_to_connect(Deadline::after(attend_time), introduction);
    } catch (const std::exception&) {
        attend_again_ = BootClock::now() + attend_again;
    }
}

} // namespace berth::sandbox
