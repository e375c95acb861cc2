#include "sandbox/guest/dispatch.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/utf8.hpp"
#include "sandbox/guest/acknowledgements.hpp"
#include "sandbox/guest/command_answer.hpp"
#include "sandbox/guest/connection.hpp"
#include "sandbox/guest/files/replaced_files.hpp"
#include "sandbox/guest/operations.hpp"
#include "sandbox/guest/protection/protected_writes.hpp"
#include "sandbox/protocol/messages.hpp"
#include "sandbox/protocol/wire.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include <sys/prctl.h>

namespace berth::guest {
namespace {

using protocol::Operation;

/// An operation on files: on a worker's thread, from request to reply.
using FileOperation = std::string (*)(std::string request, const CallContext& context,
                                      ProtectedBook& protected_files);

/// Anything else: on the loop's thread.
struct LoopContext {
    const Services& services;
    BootClock::time_point started;
};

using LoopOperation = void (*)(const LoopContext& context, const std::shared_ptr<Call>& call,
                               std::string_view request);

template <class Reply, class Request>
Request request_of(Reply (*)(const Request&, const CallContext&)); // for decltype only

/// A large request must not be in memory twice for as long as its operation takes.
template <class Request>
Request decode_and_free(std::string& bytes)
{
    const std::string freed = std::move(bytes);
    return protocol::decode<Request>(freed);
}

/// One that may write files which are protected.
template <auto function, class Request>
auto with_protection(const Request& request, CallContext context, ProtectedBook& protected_files)
{
    ProtectedWrites writes(*request.protection, context.config);
    context.protected_writes = &writes;
    auto reply = function(request, context);
    if constexpr (requires { reply.dry_run; }) {
        if (reply.dry_run) {
            return reply;
        }
    }
    reply.protected_changes = writes.done(protected_files);
    return reply;
}

template <auto function>
std::string on_files(std::string bytes, const CallContext& context, ProtectedBook& protected_files)
{
    using Request = decltype(request_of(function));
    const auto request = decode_and_free<Request>(bytes);
    if constexpr (requires { request.protection; }) {
        if (request.protection) {
            return protocol::encode(with_protection<function>(request, context, protected_files));
        }
    }
    return protocol::encode(function(request, context));
}

template <class Reply>
void answer(Call& call, const Reply& reply, const std::exception_ptr& error)
{
    if (error) {
        call.fail(error);
    } else {
        call.reply(protocol::encode(reply));
    }
}

void ping(const LoopContext& /*context*/, const std::shared_ptr<Call>& call,
          std::string_view /*request*/)
{
    call->reply({});
}

void info(const LoopContext& context, const std::shared_ptr<Call>& call, std::string_view request)
{
    const auto decoded = protocol::decode<protocol::InfoRequest>(request);
    const Services& services = context.services;
    protocol::InfoReply reply;
    reply.build = BERTH_VERSION;
    reply.cwd = services.session.cwd();
    reply.home = services.config.home;
    reply.uptime = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(BootClock::now() - context.started)
            .count());
    reply.connections = static_cast<std::uint32_t>(services.connections());
    reply.calls = static_cast<std::uint32_t>(services.commands.running());
    reply.jobs = services.commands.jobs();
    reply.ended = services.commands.ended_jobs();
    reply.forgotten_unseen = services.commands.forgotten_unseen();
    reply.forgotten_expected = services.commands.forgotten_expected();
    reply.forgotten_lent = services.commands.forgotten_lent();
    reply.open_files = services.commands.open_files();
    reply.layers = services.commands.layers();
    if (::prctl(PR_GET_SECCOMP) == 2) {
        reply.layers.emplace_back("seccomp");
    }
    if (decoded.claim_unseen) {
        reply.acknowledge = claim_unseen(call, services.commands, decoded.acknowledge);
    } else if (decoded.shows_ends && decoded.acknowledge) {
        reply.acknowledge = show_ends(call, services.commands);
    }
    reply.pause = services.pauses.describe();
    if (const auto left = services.ends_in(); left && !reply.pause->ends_in) {
        reply.pause->ends_in =
            static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(*left).count());
    }
    if (services.quota) {
        reply.quota = services.quota->state();
    }
    call->reply(protocol::encode(reply));
}

void pause(const LoopContext& context, const std::shared_ptr<Call>& call,
           std::string_view /*request*/)
{
    context.services.pauses.pause(
        [call](const protocol::PauseReply& reply, const std::exception_ptr& error) {
            answer(*call, reply, error);
        });
}

void resume(const LoopContext& context, const std::shared_ptr<Call>& call,
            std::string_view /*request*/)
{
    call->reply(protocol::encode(context.services.pauses.resume()));
}

void set_terms(const LoopContext& context, const std::shared_ptr<Call>& call,
               std::string_view request)
{
    const auto wanted = protocol::decode<protocol::Terms>(request);
    call->reply(protocol::encode(context.services.change_terms(wanted)));
}

/// As a person would name it.
std::string words_for(std::string_view command)
{
    constexpr std::size_t longest = 60;
    const auto line = command.substr(0, command.find('\n'));
    const auto shown = utf8::prefix_bytes(line, longest);
    return "the command `" + std::string(shown) + (shown.size() < command.size() ? "…" : "") + "`";
}

/// The events that a request asks for; the result ends them. `progress`: as in the request.
std::shared_ptr<void> tell_output(const std::shared_ptr<Call>& call, Commands& commands,
                                  const std::string& id, std::uint64_t progress)
{
    if (progress == 0) {
        return nullptr;
    }
    constexpr std::uint64_t longest = 3'600'000;
    return commands.tell_output(
        id, std::chrono::milliseconds(std::min(progress, longest)),
        [call](protocol::PrintedTail tail) {
            return call->tell(protocol::encode(protocol::Event{.printed = std::move(tail)}));
        });
}

/// The answer of a call that nobody came back for in time, should somebody come all the same.
std::exception_ptr went_on(const std::string& job_id)
{
    return std::make_exception_ptr(Error(
        Error(ErrorCode::conflict,
              "the connection of this call broke, and the command went on as " +
                  (job_id.empty() ? "a job" : job_id),
              job_id.empty()
                  ? "session_info names it; it is not run again."
                  : "bash_output of " + job_id + " tells how it is or was; it is not run again.")
            .set_retryable(false)));
}

/// What becomes of a command with what becomes of its call.
void bind_command(const std::weak_ptr<Call>& weak, Commands& commands, const std::string& id,
                  bool acknowledge)
{
    const auto call = weak.lock();
    if (!call) {
        return;
    }
    call->on_cancel([&commands, id] { commands.cancel(id); });
    call->on_gone([&commands, id, weak] {
        const auto job_id = commands.detach(id);
        if (const auto gone = weak.lock()) {
            gone->fail(went_on(job_id));
        }
    });
    if (acknowledge) {
        call->on_acknowledged([&commands, id] { commands.acknowledge(id); });
        call->on_repeated([weak, &commands, id] {
            commands.await_again(id);
            bind_command(weak, commands, id, true);
        });
    }
}

/// Of a command of which nothing was run. Its connection may be gone, and nobody come back for it:
/// then a job says so.
void fail_command(Call& call, Commands& commands, const Commands::Asked& asked,
                  const std::exception_ptr& error)
{
    call.on_gone([&commands, asked, error] { commands.note_not_run(asked, error); });
    call.fail(error);
}

void execute(const LoopContext& context, const std::shared_ptr<Call>& call,
             std::string_view request)
{
    const auto decoded = protocol::decode<protocol::ExecuteRequest>(request);
    Commands& commands = context.services.commands;
    call->say(words_for(decoded.command));
    bind_command(call, commands, decoded.id, decoded.acknowledge);
    commands.start(
        decoded,
        [call, &services = context.services, asked = commands.asked(decoded),
         result = CommandAnswer(context.services, call, decoded),
         news = tell_output(call, commands, decoded.id, decoded.progress)](
            const protocol::ExecuteReply& reply, const std::exception_ptr& error) {
            if (error) {
                fail_command(*call, services.commands, asked, error);
            } else {
                result.give(reply);
            }
        },
        // Its shim has the request then. Kept for hours by a command with much input, the room
        // would be missing to every large write, also to one that the command waits for.
        {.asker = call->asker(), .server = call->server(), .began = [call] {
             call->keep_room(nullptr);
         }});
}

/// For a call that waits: whoever has left is not answered, whoever cancels is told so, and what
/// becomes of the job.
void end_waiting(const std::shared_ptr<Call>& call, Commands& commands, Commands::Waiting waiting,
                 const char* outlook)
{
    call->on_gone([&commands, waiting, outlook, weak = std::weak_ptr(call)] {
        commands.drop(waiting);
        if (const auto gone = weak.lock()) {
            gone->fail(std::make_exception_ptr(
                Error(Error(ErrorCode::conflict,
                            std::string("the connection of this call broke; ") + outlook,
                            "bash_output tells how the job is.")
                          .set_retryable(false))));
        }
    });
    call->on_cancel([&commands, waiting, outlook, weak = std::weak_ptr(call)] {
        commands.drop(waiting);
        if (const auto cancelled = weak.lock()) {
            cancelled->fail(std::make_exception_ptr(
                Error(ErrorCode::cancelled, std::string("the call was cancelled; ") + outlook,
                      "bash_output tells how the job is.")));
        }
    });
    call->keep_room(nullptr);
}

Commands::Asker asker_of(const Call& call)
{
    return {call.asker(), call.server()};
}

template <class Reply>
void answer_of_job(const std::shared_ptr<Call>& call, Commands& commands, const Reply& reply,
                   const std::exception_ptr& error)
{
    if (!error && reply.acknowledge) {
        end_read_with(call, commands, reply.state.job_id);
    }
    answer(*call, reply, error);
}

void job_output(const LoopContext& context, const std::shared_ptr<Call>& call,
                std::string_view request)
{
    Commands& commands = context.services.commands;
    const auto decoded = protocol::decode<protocol::JobOutputRequest>(request);
    call->say("reading the output of " + decoded.job_id.substr(0, 60));
    const auto waiting = commands.job_output(
        decoded,
        [call, &commands, news = tell_output(call, commands, decoded.job_id, decoded.progress)](
            const protocol::JobOutputReply& reply, const std::exception_ptr& error) {
            answer_of_job(call, commands, reply, error);
        },
        asker_of(*call));
    end_waiting(call, commands, waiting, "the job goes on");
}

void job_input(const LoopContext& context, const std::shared_ptr<Call>& call,
               std::string_view request)
{
    call->reply(protocol::encode(context.services.commands.job_input(
        protocol::decode<protocol::JobInputRequest>(request), asker_of(*call))));
}

void job_kill(const LoopContext& context, const std::shared_ptr<Call>& call,
              std::string_view request)
{
    Commands& commands = context.services.commands;
    const auto waiting = commands.job_kill(
        protocol::decode<protocol::JobKillRequest>(request),
        [call, &commands](const protocol::JobKillReply& reply, const std::exception_ptr& error) {
            answer_of_job(call, commands, reply, error);
        },
        asker_of(*call));
    end_waiting(call, commands, waiting,
                "what it asked for goes on: the job has its signal, and is ended after the grace");
}

void shutdown(const LoopContext& context, const std::shared_ptr<Call>& call,
              std::string_view /*request*/)
{
    call->reply({}, context.services.end);
}

/// What is not read by now stays unread, which whoever sent it can see: a call that was begun
/// between this look and the end would be killed with an outcome that nobody knows.
void retire(const LoopContext& context, const std::shared_ptr<Call>& call, std::string_view request)
{
    const auto& services = context.services;
    const auto decoded = protocol::decode<protocol::RetireRequest>(request);
    if (services.in_use_beside(call->server(), decoded.with_jobs)) {
        throw Error(ErrorCode::busy, "the session is in use");
    }
    services.stop_reading();
    call->reply({}, services.end);
    services.end_soon(); // whoever asked may be gone, and take no answer
}

struct Entry {
    Operation operation;
    std::string_view words{}; ///< for whoever asks what is in flight
    FileOperation on_worker = nullptr;
    LoopOperation on_loop = nullptr;
    Workers::Kind kind = Workers::Kind::brief;
    bool takes_data = false;
};

constexpr std::array table = {
    Entry{.operation = Operation::ping, .on_loop = ping},
    Entry{.operation = Operation::info, .on_loop = info},
    Entry{.operation = Operation::execute, .words = "a command", .on_loop = execute},
    Entry{.operation = Operation::read_file,
          .words = "reading a file",
          .on_worker = on_files<read_file>},
    Entry{.operation = Operation::write_file,
          .words = "writing a file",
          .on_worker = on_files<write_file>},
    Entry{.operation = Operation::edit_file,
          .words = "editing a file",
          .on_worker = on_files<edit_file>},
    Entry{.operation = Operation::patch_files,
          .words = "patching files",
          .on_worker = on_files<patch_files>},
    Entry{.operation = Operation::glob,
          .words = "finding files",
          .on_worker = on_files<glob_files>,
          .kind = Workers::Kind::listing},
    Entry{.operation = Operation::grep,
          .words = "searching files",
          .on_worker = on_files<grep_files>,
          .kind = Workers::Kind::search},
    Entry{.operation = Operation::export_files,
          .words = "taking files out",
          .on_worker = on_files<export_files>,
          .kind = Workers::Kind::transfer},
    Entry{.operation = Operation::import_files,
          .words = "bringing files in",
          .on_worker = on_files<import_files>,
          .kind = Workers::Kind::transfer,
          .takes_data = true},
    Entry{.operation = Operation::shutdown, .on_loop = shutdown},
    Entry{.operation = Operation::job_output,
          .words = "reading a job's output",
          .on_loop = job_output},
    Entry{.operation = Operation::job_input, .words = "writing to a job", .on_loop = job_input},
    Entry{.operation = Operation::job_kill, .words = "ending a job", .on_loop = job_kill},
    Entry{.operation = Operation::pause, .on_loop = pause},
    Entry{.operation = Operation::resume, .on_loop = resume},
    Entry{.operation = Operation::change_terms, .on_loop = set_terms},
    Entry{.operation = Operation::retire, .on_loop = retire},
    Entry{.operation = Operation::sync, .on_worker = on_files<sync_files>},
};

void run_on_worker(FileOperation operation, const Services& services,
                   const std::shared_ptr<Call>& call)
{
    if (!call->claim()) {
        return; // it has ended in the queue
    }
    ReplacedFiles replaced; // let go of behind the answer
    try {
        const CallContext context{
            .config = services.config,
            .session = services.session,
            .stop = call->stop_token(),
            .send_data = [&call](std::string_view data) { call->send_data(data); },
            .receive_data = [&call] { return call->receive_data(); },
            .quota = services.quota.get(),
            .replaced = &replaced,
        };
        call->reply(operation(call->take_request(), context, *services.protected_files));
    } catch (...) {
        call->fail(std::current_exception());
    }
}

/// A call that waits for a thread, perhaps behind long ones, ends at once and is never done.
void end_in_queue(const std::weak_ptr<Call>& weak)
{
    const auto queued = weak.lock();
    if (!queued || !queued->claim()) {
        return;
    }
    queued->drop_request();
    queued->fail(std::make_exception_ptr(
        Error(ErrorCode::cancelled, "the call was cancelled before it began",
              "Nothing of it was done: call again if it is still wanted.")));
}

} // namespace

Dispatcher::Dispatcher(Services services) : services_(std::move(services))
{
    services_.protected_files = std::make_shared<ProtectedBook>(services_.config);
}

void Dispatcher::begin(const std::shared_ptr<Call>& call, protocol::Frame request) const
{
    const auto* const entry = std::find_if(table.begin(), table.end(), [&](const Entry& candidate) {
        return static_cast<std::uint16_t>(candidate.operation) == request.operation;
    });
    if (entry == table.end()) {
        throw Error(ErrorCode::unsupported,
                    "this guest (" BERTH_VERSION ") has no operation " +
                        std::to_string(request.operation),
                    "end the session: a new one gets a guest of the server's version");
    }
    if (!protocol::only_manages(entry->operation)) {
        call->keep_ticket(services_.pauses.begin_call(entry->words));
    }
    if (entry->on_loop != nullptr) {
        entry->on_loop({services_, started_}, call, request.payload);
        return;
    }
    if (entry->takes_data) {
        call->accept_data();
    }
    call->keep_request(std::move(request.payload));
    call->on_cancel([weak = std::weak_ptr(call)] { end_in_queue(weak); });
    call->on_gone([weak = std::weak_ptr(call)] { end_in_queue(weak); });
    services_.workers.run([operation = entry->on_worker, &services = services_,
                           call] { run_on_worker(operation, services, call); },
                          entry->kind, call->asker());
}

} // namespace berth::guest
