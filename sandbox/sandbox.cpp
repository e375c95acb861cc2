#include "sandbox/sandbox.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/exchange.hpp"
#include "sandbox/guest_connection.hpp"
#include "sandbox/protocol/wire.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace berth::sandbox {
namespace {

using protocol::Operation;

constexpr std::chrono::milliseconds retry_time{20};
/// Of a guest that is stuck the first call says so.
constexpr std::chrono::seconds attend_time{1};
constexpr std::chrono::seconds attend_again{1};

/// Of operations that do no work.
constexpr std::chrono::seconds answer_time{10};
/// Of what may take longer than it should: the start of a job, and its output, which may be
/// gigabytes that a filter goes through.
constexpr std::chrono::seconds read_time{120};
/// Of a job's end: a call that may take longer waits for its turn.
constexpr std::chrono::seconds quick_grace{5};

std::string_view name_of(Operation operation) noexcept
{
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
    }
    return "a call";
}

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
                "session_info in the same session names it.");
}

} // namespace

struct Sandbox::Borrowed {
    std::unique_ptr<GuestConnection> connection;
    bool used = false; ///< by an earlier call: the guest may have closed it since
};

struct Sandbox::Answered {
    Answer answer;
    std::unique_ptr<GuestConnection> connection; ///< null when it is of no further use
};

Sandbox::Sandbox(std::unique_ptr<Machine> machine, std::string token,
                 std::chrono::milliseconds patience)
    : machine_(std::move(machine)), token_(std::move(token)), patience_(patience)
{
}

Sandbox::~Sandbox() = default;

Sandbox::Borrowed Sandbox::borrow(bool fresh, const std::stop_token& stop)
{
    if (attends_) {
        keep_attending();
    }
    if (!fresh) {
        if (auto connection = idle_->take()) {
            return {std::move(connection), true};
        }
    }
    return {connect(stop), false};
}

/// The guest refuses a connection above its number, which other servers of the session may use up;
/// one that was closed a moment ago still counts there.
std::unique_ptr<GuestConnection> Sandbox::connect(const std::stop_token& stop)
{
    const auto patience = Deadline::after(patience_);
    for (;;) {
        try {
            return try_to_connect(Deadline::after(patience_));
        } catch (const Error& error) {
            if (error.code() != ErrorCode::busy) {
                throw;
            }
            if (patience.expired()) {
                throw Error(ErrorCode::busy, error.what(),
                            "Other servers of this session use them all. Wait for their calls to "
                            "end.");
            }
        }
        if (stop.stop_requested()) {
            throw_not_begun();
        }
        std::this_thread::sleep_for(retry_time);
    }
}

std::unique_ptr<GuestConnection> Sandbox::try_to_connect(const Deadline& deadline, bool as_client)
{
    try {
        auto connection = std::make_unique<GuestConnection>(machine_->connect(deadline));
        connection->say_hello(token_, machine_->record().generation, as_client, deadline);
        return connection;
    } catch (const Error& error) {
        // A token that is refused is that of a machine whose place another has taken.
        if (error.code() == ErrorCode::session_lost ||
            error.code() == ErrorCode::authentication_required) {
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
        connection.say_hello(token_, machine_->record().generation, /*as_client=*/false, deadline);
        return true;
    } catch (const std::exception&) {
        return !deadline.expired();
    }
}

template <class Reply, class Request>
Reply Sandbox::call(Operation operation, const Request& request, const std::stop_token& stop,
                    std::chrono::milliseconds time, const DataSink* sink, const DataSource* source,
                    const Printed* printed, std::unique_ptr<GuestConnection>* kept)
{
    const std::string payload = protocol::encode(request);
    if (payload.size() > protocol::max_payload_size) {
        throw Error(ErrorCode::too_large,
                    "the request has " + std::to_string(payload.size()) + " bytes, at most " +
                        std::to_string(protocol::max_payload_size) + " are possible",
                    "Send less at once: a long file in pieces with write_file and mode append.");
    }
    // Whoever asks how things are must hear it when all places are taken by calls that are stuck.
    const auto turn = !protocol::only_manages(operation) ? calls_.enter(stop) : Turns::Turn();
    const auto deadline = time.count() == 0 ? Deadline() : Deadline::after(time);
    const auto* leaving = operation == Operation::execute ? &leaving_ : nullptr;
    Answered answered = ask({.operation = operation,
                             .request = payload,
                             .sink = sink,
                             .source = source,
                             .printed = printed,
                             .stop = stop,
                             .deadline = deadline,
                             .leaving = leaving,
                             .is_alive = [this] { return is_alive(); },
                             .patience = patience_});
    if (answered.answer.is_error) {
        const Error error = remote_error(answered.answer.payload);
        idle_->give_back(std::move(answered.connection));
        throw Error(error);
    }
    try {
        auto reply = protocol::decode<Reply>(answered.answer.payload);
        if (kept != nullptr) {
            *kept = std::move(answered.connection);
        } else {
            idle_->give_back(std::move(answered.connection));
        }
        return reply;
    } catch (const protocol::WireError& malformed) {
        throw_violation(malformed.what());
    }
}

bool Sandbox::left(const Exchange& exchange) const noexcept
{
    return exchange.leaving != nullptr && leaving_ && exchange.stop.stop_requested();
}

Sandbox::Answered Sandbox::ask(const Exchange& exchange)
{
    if (exchange.stop.stop_requested()) {
        throw_not_begun();
    }
    Borrowed borrowed = borrow(/*fresh=*/false, exchange.stop);
    for (;;) {
        try {
            auto answer = sandbox::exchange(*borrowed.connection, exchange);
            if (!answer.reusable) {
                borrowed.connection.reset();
            }
            return {std::move(answer), std::move(borrowed.connection)};
        } catch (const Error& error) {
            if (error.code() != ErrorCode::session_lost) {
                throw;
            }
            if (left(exchange)) {
                throw_left(borrowed.connection->request_sent());
            }
            // A guest that has not had the whole frame has done nothing. The idle connection of a
            // guest that lives may have been closed; a new one tells.
            if (borrowed.connection->request_sent()) {
                throw_lost(error, exchange.operation);
            }
            if (!borrowed.used) {
                throw Unsent(error);
            }
        }
        borrowed = borrow(/*fresh=*/true, exchange.stop);
    }
}

void Sandbox::ping(const std::stop_token& stop)
{
    (void)call<protocol::Empty>(Operation::ping, protocol::Empty{}, stop, answer_time);
}

protocol::InfoReply Sandbox::info(const std::stop_token& stop, const protocol::InfoRequest& request)
{
    return call<protocol::InfoReply>(Operation::info, request, stop, answer_time);
}

protocol::InfoReply Sandbox::look(const Deadline& deadline)
{
    const auto connection = try_to_connect(deadline);
    const auto request = protocol::encode(protocol::Empty{});
    const auto answer = sandbox::exchange(
        *connection, {.operation = Operation::info, .request = request, .deadline = deadline});
    if (answer.is_error) {
        throw Error(remote_error(answer.payload));
    }
    try {
        return protocol::decode<protocol::InfoReply>(answer.payload);
    } catch (const protocol::WireError& malformed) {
        throw_violation(malformed.what());
    }
}

void Sandbox::attend() noexcept
{
    attends_ = true;
    keep_attending();
}

void Sandbox::keep_attending() noexcept
{
    const std::unique_lock lock(attending_mutex_, std::try_to_lock);
    if (!lock || attending_ || BootClock::now() < attend_again_) {
        return;
    }
    try {
        attending_ = try_to_connect(Deadline::after(attend_time), true);
    } catch (const std::exception&) {
        attend_again_ = BootClock::now() + attend_again;
    }
}

/// Of a guest from before pauses the plain answer is that it knows no such operation.
template <class Reply>
Reply Sandbox::manage(Operation operation)
{
    try {
        return call<Reply>(operation, protocol::Empty{}, {}, answer_time);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) {
            throw;
        }
        throw Error(ErrorCode::unsupported,
                    "this session's machine was made by an earlier release of berth, which cannot "
                    "pause (" +
                        std::string(error.what()) + ")",
                    "It goes on as it is. `berth sessions kill` ends it and keeps its home; the "
                    "next call makes one that can.");
    }
}

protocol::PauseReply Sandbox::pause()
{
    return manage<protocol::PauseReply>(Operation::pause);
}

protocol::ResumeReply Sandbox::resume()
{
    return manage<protocol::ResumeReply>(Operation::resume);
}

protocol::Terms Sandbox::change_terms(const protocol::Terms& wanted)
{
    try {
        return call<protocol::Terms>(Operation::change_terms, wanted, {}, answer_time);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) {
            throw;
        }
        return {};
    }
}

bool Sandbox::retire()
{
    try {
        (void)call<protocol::Empty>(Operation::retire, protocol::Empty{}, {}, answer_time);
        return true;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::busy && error.code() != ErrorCode::unsupported) {
            throw;
        }
        return false;
    }
}

protocol::ExecuteReply Sandbox::execute(const protocol::ExecuteRequest& request,
                                        const std::stop_token& stop, const Printed& printed,
                                        Receipt* receipt)
{
    // The guest ends it in time; a guest that is stuck or stopped itself must not keep a call for
    // ever.
    const std::chrono::milliseconds timeout(static_cast<std::chrono::milliseconds::rep>(
        std::min<std::uint64_t>(request.timeout, 1'000'000'000)));
    const auto turn = commands_.enter(stop);
    std::unique_ptr<GuestConnection> connection;
    auto reply = call<protocol::ExecuteReply>(
        Operation::execute, request, stop, request.background ? read_time : timeout + answer_time,
        nullptr, nullptr, &printed, &connection);
    if (reply.acknowledge && receipt != nullptr) {
        *receipt = Receipt(std::move(connection), idle_);
    } else {
        idle_->give_back(std::move(connection));
    }
    return reply;
}

protocol::JobOutputReply Sandbox::job_output(const protocol::JobOutputRequest& request,
                                             const std::stop_token& stop, const Printed& printed)
{
    // One that waits is no quick call; one that does not must get through however many wait.
    const auto turn = request.wait > 0 ? commands_.enter(stop) : Turns::Turn();
    const std::chrono::milliseconds wait(static_cast<std::chrono::milliseconds::rep>(
        std::min<std::uint64_t>(request.wait, 1'000'000'000)));
    return call<protocol::JobOutputReply>(Operation::job_output, request, stop, wait + read_time,
                                          nullptr, nullptr, &printed);
}

protocol::JobInputReply Sandbox::job_input(const protocol::JobInputRequest& request,
                                           const std::stop_token& stop)
{
    return call<protocol::JobInputReply>(Operation::job_input, request, stop, answer_time);
}

protocol::JobKillReply Sandbox::job_kill(const protocol::JobKillRequest& request,
                                         const std::stop_token& stop)
{
    const std::chrono::milliseconds grace(static_cast<std::chrono::milliseconds::rep>(
        std::min<std::uint64_t>(request.grace, 1'000'000'000)));
    // As for output: one that may take long is no quick call.
    const auto turn = grace > quick_grace ? commands_.enter(stop) : Turns::Turn();
    return call<protocol::JobKillReply>(Operation::job_kill, request, stop, grace + answer_time);
}

protocol::ReadFileReply Sandbox::read_file(const protocol::ReadFileRequest& request,
                                           const std::stop_token& stop)
{
    return call<protocol::ReadFileReply>(Operation::read_file, request, stop);
}

protocol::WriteFileReply Sandbox::write_file(const protocol::WriteFileRequest& request,
                                             const std::stop_token& stop)
{
    return call<protocol::WriteFileReply>(Operation::write_file, request, stop);
}

protocol::EditFileReply Sandbox::edit_file(const protocol::EditFileRequest& request,
                                           const std::stop_token& stop)
{
    return call<protocol::EditFileReply>(Operation::edit_file, request, stop);
}

protocol::PatchFilesReply Sandbox::patch_files(const protocol::PatchFilesRequest& request,
                                               const std::stop_token& stop)
{
    return call<protocol::PatchFilesReply>(Operation::patch_files, request, stop);
}

protocol::GlobReply Sandbox::glob(const protocol::GlobRequest& request, const std::stop_token& stop)
{
    return call<protocol::GlobReply>(Operation::glob, request, stop);
}

protocol::GrepReply Sandbox::grep(const protocol::GrepRequest& request, const std::stop_token& stop)
{
    return call<protocol::GrepReply>(Operation::grep, request, stop);
}

protocol::ExportReply Sandbox::export_files(const protocol::ExportRequest& request,
                                            const DataSink& sink, const std::stop_token& stop)
{
    return call<protocol::ExportReply>(Operation::export_files, request, stop, {}, &sink);
}

protocol::ImportReply Sandbox::import_files(const protocol::ImportRequest& request,
                                            const DataSource& source, const std::stop_token& stop)
{
    return call<protocol::ImportReply>(Operation::import_files, request, stop, {}, nullptr,
                                       &source);
}

void Sandbox::shutdown()
{
    (void)call<protocol::Empty>(Operation::shutdown, protocol::Empty{}, {}, answer_time);
    idle_->clear();
}

} // namespace berth::sandbox
