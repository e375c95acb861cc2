#include "sandbox/guest/named_calls.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/guest/connection.hpp"
#include "sandbox/protocol/call_name.hpp"
#include "sandbox/protocol/wire.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace berth::guest {
namespace {

using protocol::Operation;
using Standing = AnswerBook::Standing;

constexpr const char* look = "Look what it has done before you do it again.";

/// Of a request that is malformed the operation says so itself.
std::string name_in(std::string_view request)
{
    try {
        return protocol::decode<protocol::CallName>(request).name;
    } catch (const protocol::WireError&) {
        return {};
    }
}

/// Nobody attacks it: whoever can send a request can send any.
AnswerBook::Request description_of(const protocol::Frame& request)
{
    return {.operation = request.operation,
            .size = request.payload.size(),
            .hash = std::hash<std::string_view>{}(request.payload)};
}

[[noreturn]] void throw_let_go()
{
    throw Error(
        Error(ErrorCode::conflict,
              "this call was made before and has ended; how is not kept any more, and it was not "
              "made again",
              look)
            .set_retryable(false));
}

/// Else one of them that is sent again would not be known, and run twice.
[[noreturn]] void throw_full()
{
    throw Error(ErrorCode::busy,
                "the session has made so many calls within a minute that no more can be remembered",
                "Nothing of this one was done: call again in a few seconds.");
}

} // namespace

NamedCalls::NamedCalls(EventLoop& loop, const Options& options)
    : loop_(loop), options_(options), book_(options.book)
{
}

NamedCalls::~NamedCalls()
{
    for (const auto& flight : flights_) {
        loop_.cancel(flight.timer);
        if (const auto call = flight.call.lock()) {
            call->on_answer({});
        }
    }
}

bool NamedCalls::take(const std::shared_ptr<Call>& call, const protocol::Frame& request)
{
    const auto operation = static_cast<Operation>(request.operation);
    const bool recalls = operation == Operation::recall;
    if (!recalls && !protocol::may_be_named(operation)) {
        return false;
    }
    const auto name = name_in(request.payload);
    if (name.empty() && !recalls) {
        return false;
    }
    if (!protocol::is_call_name(name)) {
        throw Error(ErrorCode::invalid_argument, "that is no name of a call",
                    "It has 32 hex digits.");
    }
    if (recalls) {
        return repeat(call, name, /*data_follows=*/false);
    }
    const auto description = description_of(request);
    const bool unknown = book_.standing(name) == Standing::unknown;
    if (unknown && !book_.is_full()) {
        begin(call, name, description);
        return false;
    }
    if (operation == Operation::import_files) {
        call->accept_data(); // which comes behind it, and is passed over
    }
    if (unknown) {
        throw_full();
    }
    if (!book_.is_of(name, description)) {
        throw Error(ErrorCode::invalid_argument,
                    "another call has the name " + name + ", and it is not made",
                    "Each call needs a name of its own.");
    }
    return repeat(call, name, operation == Operation::import_files);
}

void NamedCalls::begin(const std::shared_ptr<Call>& call, const std::string& name,
                       const AnswerBook::Request& request)
{
    std::erase_if(flights_, [this](const Flight& flight) {
        const bool dead = flight.call.expired(); // nobody is left who could answer it
        if (dead) {
            book_.let_go(flight.name);
        }
        return dead;
    });
    const auto connection = call->connection();
    book_.begin(name, request);
    flights_.push_back({.name = name,
                        .server = connection ? connection->server() : std::string(),
                        .call = call,
                        .waiting = nullptr});
    call->set_name(name);
    call->on_answer([this](const Call& answered, protocol::FrameType type,
                           const std::string& payload) { ended(answered, type, payload); });
}

/// What stands on the way may pass a call on after it was given up: told as not done, it must not
/// be done then. False: there is no room to know it by.
bool NamedCalls::spend(const std::string& name)
{
    if (book_.is_full()) {
        return false;
    }
    book_.begin(name, {});
    book_.let_go(name);
    return true;
}

/// The connection on which it was before is of no use any more, to whomever.
bool NamedCalls::repeat(const std::shared_ptr<Call>& call, const std::string& name,
                        bool data_follows)
{
    const auto connection = call->connection();
    const auto flight = find(name);
    if (flight != flights_.end()) {
        loop_.cancel(std::exchange(flight->timer, 0));
    }
    if (const auto* const kept = book_.answer(name)) {
        auto answer = *kept;
        if (flight != flights_.end()) {
            flights_.erase(flight);
        }
        if (answer.type == protocol::FrameType::reply) {
            answer.call->repeated();
        } else {
            answer.call->acknowledged(); // somebody is there to hear it
        }
        connection->take_over(answer.call);
        connection->finish(*answer.call, answer.type, std::move(answer.payload), {});
        connection->pass_over_data(data_follows);
        return true;
    }
    if (book_.standing(name) == Standing::unknown) {
        if (!spend(name)) {
            throw_full();
        }
        throw Error(Error(ErrorCode::not_found, "no call of that name has come here",
                          "Nothing of it was done.")
                        .with_detail(protocol::unknown_call, name));
    }
    const auto running = flight != flights_.end() ? flight->call.lock() : nullptr;
    if (!running || book_.standing(name) != Standing::running) {
        // Of one that has ended and whose answer had to go, nothing would ever come.
        if (running) {
            flights_.erase(flight);
            running->gone();
        }
        book_.let_go(name);
        throw_let_go();
    }
    flight->waiting.reset();
    connection->take_over(running);
    running->cut_input();
    connection->pass_over_data(data_follows);
    return true;
}

void NamedCalls::ended(const Call& call, protocol::FrameType type, const std::string& payload)
{
    const auto flight = find(call.name());
    if (flight == flights_.end()) {
        return;
    }
    if (auto alive = flight->call.lock()) {
        book_.keep(call.name(), {.type = type, .payload = payload, .call = std::move(alive)});
    }
    if (!flight->waiting) {
        flights_.erase(flight);
    }
}

void NamedCalls::lost(const std::shared_ptr<Call>& call, bool leased)
{
    const auto flight = call->name().empty() ? flights_.end() : find(call->name());
    if (flight == flights_.end()) {
        if (leased && !call->name().empty() && call->awaits_acknowledgement()) {
            keep_answered(call);
        } else {
            call->gone(); // or it is answered: should nobody come back for that, nobody has seen it
        }
        return;
    }
    flight->waiting = call;
    call->cut_input();
    if (!leased) {
        flight->timer = loop_.call_awake(options_.patience, [this, name = call->name()] {
            if (const auto found = find(name); found != flights_.end()) {
                abandon(found);
            }
        });
    }
    bound_waiting();
}

/// Until its server says that it had the answer, or is gone.
void NamedCalls::keep_answered(const std::shared_ptr<Call>& call)
{
    const auto connection = call->connection();
    flights_.push_back({.name = call->name(),
                        .server = connection ? connection->server() : std::string(),
                        .call = call,
                        .waiting = call});
    bound_waiting();
}

void NamedCalls::settle_running(Flights::iterator flight, Word word)
{
    const auto running = flight == flights_.end() ? nullptr : flight->call.lock();
    if (!running || word == Word::seen) {
        return;
    }
    if (word == Word::declined) {
        running->cancel();
    } else if (flight->waiting) {
        abandon(flight);
    } else {
        running->gone();
    }
}

void NamedCalls::settle(const std::string& name, Word word)
{
    const auto flight = find(name);
    if (book_.standing(name) == Standing::running) {
        settle_running(flight, word);
        return;
    }
    if (word != Word::seen && book_.standing(name) == Standing::unknown) {
        static_cast<void>(spend(name)); // nobody wants it any more
    }
    const auto* const kept = book_.answer(name);
    auto call = kept != nullptr ? kept->call : nullptr;
    if (flight != flights_.end()) {
        loop_.cancel(flight->timer);
        call = flight->waiting;
        flights_.erase(flight);
    }
    book_.let_go(name);
    if (!call) {
        return;
    }
    switch (word) {
    case Word::seen:
        call->acknowledged();
        return;
    case Word::declined:
        call->declined();
        return;
    case Word::given_up:
        call->gone();
        return;
    }
}

void NamedCalls::seen(const Call& call)
{
    if (!call.name().empty()) {
        book_.let_go(call.name());
    }
}

void NamedCalls::drop_absent(const IsHere& is_here)
{
    for (auto next = flights_.begin(); next != flights_.end();) {
        const auto flight = next++;
        if (flight->waiting && !is_here(flight->server)) {
            abandon(flight);
        }
    }
}

NamedCalls::Flights::iterator NamedCalls::find(const std::string& name)
{
    return std::find_if(flights_.begin(), flights_.end(),
                        [&](const Flight& flight) { return flight.name == name; });
}

/// One that still runs stays known: what it will say is its answer.
void NamedCalls::abandon(Flights::iterator flight)
{
    loop_.cancel(std::exchange(flight->timer, 0));
    const auto call = std::exchange(flight->waiting, nullptr);
    if (book_.standing(flight->name) != Standing::running) {
        flights_.erase(flight);
    }
    call->gone();
}

void NamedCalls::bound_waiting()
{
    const auto waits = [](const Flight& flight) { return flight.waiting != nullptr; };
    const auto count = std::count_if(flights_.begin(), flights_.end(), waits);
    if (static_cast<std::size_t>(count) > options_.most_waiting) {
        abandon(std::find_if(flights_.begin(), flights_.end(), waits));
    }
}

} // namespace berth::guest
