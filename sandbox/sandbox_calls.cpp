#include "sandbox/sandbox_calls.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/late_words.hpp"
#include "sandbox/protocol/call_name.hpp"
#include "sandbox/protocol/wire.hpp"
#include "sandbox/watched_data.hpp"

#include <array>
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

/// A token that is refused is that of a machine whose place another has taken.
bool tells_of_a_loss(const Error& error) noexcept
{
    return error.code() == ErrorCode::session_lost ||
           error.code() == ErrorCode::authentication_required;
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

/// Before a call is sent again: a connection that broke may have been an accident, three in a row
/// are none.
constexpr std::array again_after{std::chrono::milliseconds(0), std::chrono::milliseconds(50),
                                 std::chrono::milliseconds(250)};

[[noreturn]] void throw_lost(const Error& error, Operation operation)
{
    // That the sandbox is lost, whoever shows this to the agent says.
    throw Error(ErrorCode::session_lost,
                std::string(name_of(operation)) + " was cut off: " + error.what(),
                "what the call had done until then is not known");
}

[[noreturn]] void throw_left(bool has_begun)
{
    if (!has_begun) {
        throw Error(ErrorCode::cancelled, "the client left before the command began", not_begun);
    }
    throw Error(ErrorCode::cancelled, "the client left; the command goes on as a job",
                "session_info in the same session names it, unless the sandbox ends with its last "
                "client (session.on_disconnect = kill, or a session without a name).");
}

[[noreturn]] void throw_not_asked(const Error& error, Operation operation)
{
    throw Error(ErrorCode::backend_error,
                std::string(name_of(operation)) +
                    " was cut off, and the sandbox's guest cannot be asked what became of it: " +
                    error.what(),
                "It may have been done, or may go on: look before you repeat it.");
}

/// Data that was given once cannot be given again; the guest acts on no half of it.
[[noreturn]] void throw_data_lost()
{
    throw Error(Error(ErrorCode::backend_error,
                      "the connection to the sandbox broke before the call had begun there",
                      "Nothing of it was done: call again.")
                    .set_retryable(true));
}

/// Without a name, which a call needs that shall not be done twice.
bool reads_alone(const Exchange& exchange) noexcept
{
    return exchange.name.empty() && protocol::only_reads(exchange.operation);
}

/// Of a call that only looks: whatever became of it, the sandbox is as it was, and may well live.
[[noreturn]] void throw_not_read(const Error& error, Operation operation)
{
    throw Error(Error(ErrorCode::backend_error,
                      std::string(name_of(operation)) + " was cut off: " + error.what(),
                      "Nothing was changed in the sandbox: call again.")
                    .set_retryable(true));
}

/// Nobody has cancelled it: the guest ended it for want of a connection, and says how far it was.
[[noreturn]] void throw_broke_off(const Error& error, bool imports)
{
    throw Error(ErrorCode::backend_error,
                std::string("the connection to the sandbox broke, and the call ended there: ") +
                    error.what(),
                imports ? "A file that had arrived whole is in place; the others are as they were: "
                          "look, or load again."
                        : error.hint());
}

} // namespace

std::string_view name_of(protocol::Operation operation) noexcept
{
    using protocol::Operation;
    switch (operation) {
    case Operation::ping:
        return "ping";
    case Operation::info:
        return "info";
    case Operation::execute:
        return "the command";
    case Operation::read_file:
        return "reading a file";
    case Operation::write_file:
        return "writing a file";
    case Operation::edit_file:
        return "editing a file";
    case Operation::patch_files:
        return "patching files";
    case Operation::glob:
        return "finding files";
    case Operation::grep:
        return "searching files";
    case Operation::export_files:
        return "taking files out";
    case Operation::import_files:
        return "bringing files in";
    case Operation::shutdown:
        return "the shutdown";
    case Operation::job_output:
        return "reading a job's output";
    case Operation::job_input:
        return "writing to a job";
    case Operation::job_kill:
        return "ending a job";
    case Operation::pause:
        return "pausing";
    case Operation::resume:
        return "waking";
    case Operation::change_terms:
        return "changing its limits";
    case Operation::retire:
        return "its end";
    case Operation::recall:
        return "asking for an answer";
    }
    return "a call";
}

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
    if (!fresh) {
        if (auto connection = idle_->take()) {
            return {std::move(connection), true};
        }
    }
    return {connect(exchange.stop, exchange.deadline), false};
}

/// The guest refuses a connection above its number, which other servers of the session may use up;
/// one that was closed a moment ago still counts there.
std::unique_ptr<GuestConnection> Sandbox::connect(const std::stop_token& stop,
                                                  const Deadline& until)
{
    const auto patience = Deadline::earlier(Deadline::after(patience_), until);
    for (;;) {
        try {
            return try_to_connect(Deadline::earlier(Deadline::after(patience_), until),
                                  introduction(), stop);
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
        connection->say_hello(introduction, deadline);
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
    if (asked.stop.stop_requested()) {
        throw_not_begun();
    }
    const Watched<DataSource> source(asked.source);
    const Watched<DataSink> sink(asked.sink);
    Exchange exchange = asked;
    exchange.source = source.get();
    exchange.sink = sink.get();
    const bool reads = !reach_.kept && reads_alone(asked); // one that is kept breaks with its guest
    const auto patience = Deadline::earlier(Deadline::after(patience_), exchange.deadline);
    Borrowed borrowed = borrow(/*fresh=*/false, exchange);
    for (std::size_t again = 0;; ++again) {
        try {
            return take_answer(std::move(borrowed.connection), exchange);
        } catch (const Broken& broken) {
            attending_doubted_ = true;
            if (left(exchange)) {
                throw_left(broken.begun());
            }
            const bool is_last = again == again_after.size();
            if (reads && (sink.given() || (broken.begun() && is_last))) { // nothing takes it back
                throw_not_read(broken, exchange.operation);
            }
            if (broken.begun() && !reads) {
                if (exchange.name.empty() || !broken.repeats()) {
                    throw_lost(broken, exchange.operation);
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
            if (!tells_of_a_loss(broken)) {
                throw Error(static_cast<const Error&>(broken));
            }
            // A guest that has not had the whole frame has done nothing. The idle connection of a
            // guest that lives may have been closed; a new one tells.
            if (is_last) {
                throw Unsent(broken);
            }
            std::this_thread::sleep_for(again_after.at(again));
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
        if (exchange.stop.stop_requested()) {
            throw_not_begun();
        }
        throw;
    } catch (const Refused& refusal) {
        throw Broken(refusal, /*begun=*/false, connection->repeats());
    } catch (const Error& error) {
        if (error.code() != ErrorCode::session_lost && connection->is_made()) {
            throw;
        }
        throw Broken(error, connection->request_sent(), connection->repeats());
    }
}

/// The guest, while it lives, answers what it has answered or answers now, and never does it twice.
/// Where the call cannot be sent again, or shall not, it is asked for the answer alone. Neither
/// takes longer than the call may, nor much longer than a cancel may.
Sandbox::Answered Sandbox::repeat(const Exchange& first, const Error& cause, bool data_given)
{
    const bool imports = first.source != nullptr;
    const auto recall = protocol::encode(protocol::CallName{.name = std::string(first.name)});
    Deadline until = first.deadline;
    Error last = cause;
    bool stopped = false;
    for (const auto pause : again_after) {
        std::this_thread::sleep_for(pause);
        if (!stopped && first.stop.stop_requested()) {
            stopped = true;
            until = Deadline::earlier(until, Deadline::after(cancel_time));
        }
        if (until.expired()) {
            throw_not_asked(cause, first.operation);
        }
        Exchange again = first;
        const bool recalls = data_given || stopped;
        if (recalls) {
            again.operation = Operation::recall;
            again.request = recall;
            again.source = nullptr;
        }
        try {
            auto answered = take_answer(
                connect_again(first, stopped ? std::stop_token() : first.stop, until), again);
            if (answered.answer.is_error) {
                judge_repetition(answered, imports, first.stop.stop_requested());
            }
            return answered;
        } catch (const Unsent&) {
            continue; // of the question alone: what was asked first has been sent
        } catch (const Broken& broken) {
            if (left(first)) {
                throw_left(/*has_begun=*/true);
            }
            last = static_cast<const Error&>(broken);
        }
    }
    if (!tells_of_a_loss(last)) {
        throw_not_asked(last, first.operation); // of a machine that may well live
    }
    throw_lost(cause, first.operation);
}

/// A stop request ends the attempt: the next one asks for the answer alone.
std::unique_ptr<GuestConnection>
Sandbox::connect_again(const Exchange& first, const std::stop_token& stop, const Deadline& until)
{
    try {
        return connect(stop, until);
    } catch (const Error& error) {
        // A token that is refused: another machine's guest is there, which knows nothing of the
        // call. That says as little as none of what the one before it has done.
        if (tells_of_a_loss(error) || error.code() == ErrorCode::cancelled) {
            throw Broken(error, /*begun=*/true, /*repeats=*/true);
        }
        throw_not_asked(error, first.operation);
    }
}

/// Throws where the guest's error is not the answer of the call.
void Sandbox::judge_repetition(Answered& answered, bool imports, bool stopped)
{
    const auto error = remote_error(answered.answer.payload);
    const bool unknown = error.details().contains(protocol::unknown_call);
    if (!unknown && (stopped || error.code() != ErrorCode::cancelled)) {
        return;
    }
    idle_->give_back(std::move(answered.connection));
    if (!unknown) {
        throw_broke_off(error, imports);
    }
    if (stopped) {
        throw_not_begun();
    }
    throw_data_lost();
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
