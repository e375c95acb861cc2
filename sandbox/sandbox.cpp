#include "sandbox/sandbox.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/base/request_scope.hpp"
#include "sandbox/exchange.hpp"
#include "sandbox/guest_connection.hpp"
#include "sandbox/late_words.hpp"
#include "sandbox/placeholder.hpp"
#include "sandbox/protocol/call_name.hpp"
#include "sandbox/protocol/wire.hpp"
#include "sandbox/sandbox_calls.hpp"

#include <algorithm>
#include <utility>

namespace berth::sandbox {
namespace {

using protocol::Operation;

/// Of operations that do no work.
constexpr std::chrono::seconds answer_time{10};
/// For a guest that is busy to see that a connection is gone.
constexpr std::chrono::seconds hang_up_time{1};
/// Of what may take longer than it should: the start of a job, and its output, which may be
/// gigabytes that a filter goes through.
constexpr std::chrono::seconds read_time{120};
/// What is expected of a call without a limit: one of files, and one that moves them.
constexpr std::chrono::minutes file_call{3};
constexpr std::chrono::minutes moving_call{15};
/// Of a job's end: a call that may take longer waits for its turn.
constexpr std::chrono::seconds quick_grace{5};
/// Of a call with a time of its own: so much longer may be waited for a machine that sleeps.
/// Whoever asked for ten seconds does not mean a minute of somebody else's trouble.
constexpr std::chrono::seconds wake_grace{5};

/// A time of a request: a number that a client may have chosen.
std::chrono::milliseconds time_of(std::uint64_t milliseconds)
{
    constexpr std::uint64_t most = 1'000'000'000;
    return std::chrono::milliseconds(
        static_cast<std::chrono::milliseconds::rep>(std::min(milliseconds, most)));
}

/// How long what it starts may run.
std::chrono::milliseconds life_of(const protocol::ExecuteRequest& request)
{
    const bool goes_on = request.on_timeout == protocol::OnTimeout::background;
    return time_of(request.timeout) + time_of(goes_on ? request.job_lifetime : 0);
}

/// As execute() has it.
std::chrono::milliseconds time_of(const CallToCome& next)
{
    return next.time.count() == 0 ? next.time : next.time + answer_time;
}

/// How long a machine that sleeps is waited for by a call of so long a time; 0: it has none.
std::chrono::milliseconds way_within(std::chrono::milliseconds time,
                                     std::chrono::milliseconds patience)
{
    return time.count() == 0 ? patience
                             : std::min<std::chrono::milliseconds>(patience, time + wake_grace);
}

void require_size(std::string_view payload)
{
    if (payload.size() > protocol::max_payload_size) {
        throw Error(ErrorCode::too_large,
                    "the request has " + std::to_string(payload.size()) + " bytes, at most " +
                        std::to_string(protocol::max_payload_size) + " are possible",
                    "Send less at once: a long file in pieces with write_file and mode append.");
    }
}

/// Of a call without a limit.
std::chrono::milliseconds expected_of(bool moves_files)
{
    return moves_files ? moving_call : file_call;
}

} // namespace

std::string new_call_name()
{
    static_assert(protocol::CallName::size == RequestScope::id_size + 8);
    auto* const scope = RequestScope::current();
    return scope == nullptr ? random_hex(protocol::CallName::size / 2) : scope->next_name();
}

Sandbox::Sandbox(std::unique_ptr<Machine> machine, std::string token,
                 std::chrono::milliseconds patience)
    : machine_(std::move(machine)), token_(std::move(token)), server_(random_hex(16)),
      reach_(machine_->reach()), patience_(reach_.patience.value_or(patience)),
      words_(reach_.kept ? nullptr : std::make_shared<LateWords>(reach_.lease))
{
}

Sandbox::~Sandbox() = default;

template <class Reply, class Request>
Reply Sandbox::call(Operation operation, const Request& request, const std::stop_token& stop,
                    std::chrono::milliseconds time, const DataSink* sink, const DataSource* source,
                    const Printed* printed, Kept* kept, const CallToCome* next)
{
    std::string payload = protocol::encode(request);
    protocol::CallName name;
    if (protocol::is_named(operation) ||
        (!reach_.kept && protocol::may_be_named(operation) && kept != nullptr)) {
        name.name = new_call_name();
        protocol::encode_to(payload, name);
    }
    require_size(payload);
    // Whoever asks how things are must hear it when all places are taken by calls that are stuck.
    const std::optional<Use> use =
        !protocol::only_manages(operation) ? std::optional<Use>(*this) : std::nullopt;
    const auto turn = use ? calls_.enter(stop) : Turns::Turn();
    // Of a machine that may have to be woken first the time for that is not the call's.
    const auto limit = reach_.kept ? time : time + patience_;
    const auto deadline = time.count() == 0 ? Deadline() : Deadline::after(limit);
    machine_->expect(time.count() > 0 ? limit : expected_of(sink != nullptr || source != nullptr));
    const auto* leaving = operation == Operation::execute ? &leaving_ : nullptr;
    Answered answered =
        ask({.operation = operation,
             .request = payload,
             .name = name.name,
             .sink = sink,
             .source = source,
             .printed = printed,
             .stop = stop,
             .way_stop = next != nullptr ? next->stop : std::stop_token(),
             .deadline = deadline,
             .leaving = leaving,
             .is_alive = asking(),
             .patience = patience_,
             .way = reach_.kept ? patience_
                                : way_within(next != nullptr ? time_of(*next) : time, patience_)});
    if (answered.answer.is_error) {
        const Error error = remote_error(answered.answer.payload);
        idle_->give_back(std::move(answered.connection));
        throw Error(error);
    }
    try {
        auto reply = protocol::decode<Reply>(answered.answer.payload);
        if (kept != nullptr) {
            *kept = {.connection = std::move(answered.connection), .call = std::move(name.name)};
        } else {
            idle_->give_back(std::move(answered.connection));
        }
        return reply;
    } catch (const protocol::WireError& malformed) {
        throw_violation(malformed.what());
    }
}

/// Of a guest to which no connection is kept nobody asks that.
std::function<bool()> Sandbox::asking() const
{
    return reach_.kept ? [this] { return is_alive(); } : std::function<bool()>();
}

void Sandbox::ping(const std::stop_token& stop)
{
    (void)call<protocol::Empty>(Operation::ping, protocol::Empty{}, stop, answer_time);
}

protocol::InfoReply Sandbox::info(const std::stop_token& stop, const protocol::InfoRequest& request,
                                  Receipt* receipt, const CallToCome* next)
{
    if (!reach_.kept && request.acknowledge && !left_) {
        attends_ = true; // what it claims would else be anybody's again once the answer is there
    }
    Kept kept;
    auto reply =
        call<protocol::InfoReply>(Operation::info, request, stop, answer_time, nullptr, nullptr,
                                  nullptr, request.acknowledge ? &kept : nullptr, next);
    note_jobs(!reply.jobs.empty());
    keep(std::move(kept), reply.acknowledge, receipt);
    return reply;
}

/// Also of another server's: with a machine that ends or sleeps they are gone for this one's agent.
void Sandbox::note_jobs(bool any) const
{
    if (words_) {
        words_->stays(any && attends_);
    }
}

/// Of a reply that the guest awaits a word on, or not.
void Sandbox::keep(Kept kept, bool acknowledge, Receipt* receipt, std::shared_ptr<void> place)
{
    if (!acknowledge || receipt == nullptr) {
        idle_->give_back(std::move(kept.connection));
    } else if (reach_.kept) {
        *receipt = Receipt(std::move(kept.connection), idle_, std::move(place));
    } else {
        *receipt = Receipt(std::move(kept.call), words_);
    }
}

/// The same of a job's end, which any number of calls may ask for: of those that nobody reads more
/// than so many keep no connection, and the guest has them for untold.
void Sandbox::keep_end(Kept kept, bool acknowledge, Receipt* receipt)
{
    const bool waits = acknowledge && receipt != nullptr && reach_.kept;
    auto place = waits ? idle_->place_until_read() : nullptr;
    if (!waits || place) {
        keep(std::move(kept), acknowledge, receipt, std::move(place));
    }
}

Answer Sandbox::ask_any_version(Operation operation, const Deadline& deadline,
                                std::string_view request)
{
    auto introduction = this->introduction();
    introduction.of_any_version = true;
    const auto connection = try_to_connect(deadline, introduction);
    return ask_on(*connection, operation, deadline, request);
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
    if (machine_->may_sleep()) {
        return {.was_paused = true, .jobs = 0, .mechanism = "microvm"};
    }
    auto reply = manage<protocol::PauseReply>(Operation::pause);
    sync(longest_sync);
    if (machine_->suspend(Deadline::after(patience_))) {
        reply.mechanism = "microvm";
    }
    return reply;
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

bool Sandbox::retire(bool with_jobs)
{
    // One that has carried a call counts as a client's, until the guest has seen it go.
    idle_->hang_up(Deadline::after(hang_up_time));
    try {
        (void)ask_any_version(Operation::retire, Deadline::after(answer_time),
                              protocol::encode(protocol::RetireRequest{.with_jobs = with_jobs}));
        return true;
    } catch (const OtherVersion&) {
        throw;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::busy && error.code() != ErrorCode::unsupported) {
            throw;
        }
        return false;
    }
}

Sandbox::Values Sandbox::placeholders(const std::function<Values()>& withheld)
{
    if (!withheld) {
        return {};
    }
    Values placeholders;
    const std::lock_guard lock(bringing_);
    const auto values = withheld();
    if (values.empty()) {
        return {};
    }
    machine_->bring_secrets(values);
    for (const auto& [name, value] : values) {
        placeholders.emplace(name, placeholder_of(token_, name));
    }
    return placeholders;
}

protocol::ExecuteReply Sandbox::execute(const protocol::ExecuteRequest& request,
                                        const std::stop_token& stop, const Printed& printed,
                                        Receipt* receipt)
{
    // The guest ends it in time; a guest that is stuck or stopped itself must not keep a call for
    // ever.
    const auto timeout = time_of(request.timeout);
    const auto turn = commands_.enter(stop);
    machine_->expect(life_of(request)); // also of a job, which goes on behind its call
    Kept kept;
    auto reply = call<protocol::ExecuteReply>(
        Operation::execute, request, stop, request.background ? read_time : timeout + answer_time,
        nullptr, nullptr, &printed, &kept);
    if (!reply.job_id.empty()) { // else others may run
        note_jobs(true);
    }
    keep(std::move(kept), reply.acknowledge, receipt);
    return reply;
}

protocol::JobOutputReply Sandbox::job_output(const protocol::JobOutputRequest& request,
                                             const std::stop_token& stop, const Printed& printed,
                                             Receipt* receipt)
{
    // One that waits is no quick call; one that does not must get through however many wait.
    const auto turn = request.wait > 0 ? commands_.enter(stop) : Turns::Turn();
    const auto wait = time_of(request.wait);
    Kept kept;
    auto reply = call<protocol::JobOutputReply>(Operation::job_output, request, stop,
                                                wait + read_time, nullptr, nullptr, &printed,
                                                request.acknowledge ? &kept : nullptr);
    keep_end(std::move(kept), reply.acknowledge, receipt);
    return reply;
}

protocol::JobInputReply Sandbox::job_input(const protocol::JobInputRequest& request,
                                           const std::stop_token& stop)
{
    return call<protocol::JobInputReply>(Operation::job_input, request, stop, answer_time);
}

protocol::JobKillReply Sandbox::job_kill(const protocol::JobKillRequest& request,
                                         const std::stop_token& stop, Receipt* receipt)
{
    const auto grace = time_of(request.grace);
    // As for output: one that may take long is no quick call.
    const auto turn = grace > quick_grace ? commands_.enter(stop) : Turns::Turn();
    Kept kept;
    auto reply = call<protocol::JobKillReply>(Operation::job_kill, request, stop,
                                              grace + answer_time, nullptr, nullptr, nullptr,
                                              request.acknowledge ? &kept : nullptr);
    keep_end(std::move(kept), reply.acknowledge, receipt);
    return reply;
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

std::optional<std::uint32_t> Sandbox::leave(const Deadline& deadline)
{
    if (reach_.kept) {
        return std::nullopt;
    }
    left_ = true;
    attends_ = false;
    words_->stays(false);
    auto introduction = this->introduction();
    std::optional<std::uint32_t> others;
    for (bool last = false; !last;) {
        last = words_->size() <= LateWords::most; // what a hello has room for
        // Until then it is here: what it has yet to say would be taken for what it did not have.
        introduction.lease = last ? std::chrono::milliseconds(0) : reach_.lease;
        const auto connection = connect_later(deadline, introduction, {}, /*wakes=*/false);
        const auto info = info_in(ask_on(*connection, Operation::info, deadline));
        if (info.pause) {
            others = info.pause->clients;
        }
    }
    return others;
}

std::optional<BootClock::time_point> Sandbox::words_due() const
{
    return words_ ? words_->due() : std::nullopt;
}

void Sandbox::on_words_due(std::function<void(BootClock::time_point)> changed)
{
    if (words_) {
        words_->on_due(std::move(changed));
    }
}

void Sandbox::say_words(const Deadline& deadline) noexcept
{
    if (!words_) {
        return;
    }
    try {
        auto introduction = this->introduction();
        if (!words_->stays()) {
            introduction.lease.reset(); // a server that is idle is here for no longer than it was
        } else {
            const auto connection = connect_later(deadline, introduction, {}, /*wakes=*/false);
            note_jobs(!info_in(ask_on(*connection, Operation::info, deadline)).jobs.empty());
        }
        for (auto left = words_->size(); left > 0;) {
            const auto connection = connect_later(deadline, introduction, {}, /*wakes=*/false);
            (void)ask_on(*connection, Operation::ping, deadline);
            const auto before = std::exchange(left, words_->size());
            left = left < before ? left : 0; // those that came meanwhile have their own time
        }
    } catch (const std::exception&) {
        words_->put_off();
    }
}

void Sandbox::shutdown()
{
    (void)call<protocol::Empty>(Operation::shutdown, protocol::Empty{}, {}, answer_time);
    idle_->clear();
}

} // namespace berth::sandbox
