#include "sandbox/guest/command_answer.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/guest/exec/process_tree.hpp"
#include "sandbox/guest/exec/spawn.hpp"
#include "sandbox/guest/protection/protected_book.hpp"
#include "sandbox/guest/quota/home_quota.hpp"
#include "sandbox/protocol/wire.hpp"

#include <atomic>
#include <chrono>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::guest {
namespace {

/// The home of a session may be large; a command's result waits no longer for its count.
constexpr std::chrono::milliseconds count_patience{250};
/// Nor for what runs on to let go of its memory, where its command line stands.
constexpr std::chrono::milliseconds name_patience{1000};
/// A mount may hang; nor for a look at what is protected.
constexpr std::chrono::milliseconds look_patience{2000};
constexpr std::string_view no_answer = "the disks that they are on do not answer";

} // namespace

CommandAnswer::CommandAnswer(const Services& services, const std::shared_ptr<Call>& call,
                             const protocol::ExecuteRequest& request)
    : services_(services), call_(call), protection_(request.protection),
      workdir_(absolute_workdir(request, services.session.cwd(), services.config.home)),
      began_(stamp_time_now())
{
    const auto book = services.protected_files;
    if (!protection_ || book->knows(workdir_) || !book->begin_to_know()) {
        return;
    }
    try {
        services.workers.run([book, protection = *protection_, place = workdir_] {
            book->get_to_know(protection, {place});
        });
    } catch (const Error&) {
        book->end_knowing(); // no thread is free; the look behind the command finds what it changed
    }
}

/// What a worker and the clock both want to send: whoever comes first does.
struct CommandAnswer::Pending {
    Pending(CommandAnswer of, const protocol::ExecuteReply& given)
        : answer(std::move(of)), reply(given)
    {
    }

    [[nodiscard]] bool claim() noexcept { return !claimed.exchange(true); }

    const CommandAnswer answer;
    std::atomic<bool> claimed{false};
    protocol::ExecuteReply reply; ///< the claimer's
};

void CommandAnswer::count_home() const noexcept
{
    try {
        if (services_.quota) {
            (void)services_.quota->count({}, count_patience);
        }
    } catch (const std::exception&) {
        return; // what was counted last is told
    }
}

void CommandAnswer::look(Pending& pending) const
{
    auto& book = *services_.protected_files;
    std::vector<protocol::ProtectedChange> changes;
    std::string failure;
    // The command has run: whatever keeps the look or the count from being made, for want of memory
    // or descriptors, must not make its result an error, upon which it would be run again.
    try {
        if (protection_) {
            changes = book.look(*protection_, {workdir_, pending.reply.cwd}, began_);
        }
    } catch (const std::exception& error) {
        failure = error.what();
    }
    if (!pending.reply.background) {
        count_home();
    }
    if (!pending.claim()) {
        book.keep(std::move(changes));
        book.note_late(/*ended=*/true);
    } else if (!failure.empty()) {
        send_unlooked(pending.reply, failure);
    } else {
        pending.reply.protected_changes = std::move(changes);
        send(pending.reply);
    }
}

void CommandAnswer::send(protocol::ExecuteReply& reply) const
{
    try {
        if (services_.quota) {
            reply.quota = services_.quota->state();
        }
        call_->reply(protocol::encode(reply));
    } catch (...) {
        call_->fail(std::current_exception());
    }
}

void CommandAnswer::send_unlooked(protocol::ExecuteReply& reply, std::string_view why) const
{
    reply.notice += std::string(reply.notice.empty() ? "" : "\n") +
                    "protected files were not looked at: " + std::string(why);
    send(reply);
}

/// One that holds the lock of its memory map, as in an mmap of a file whose disk does not answer,
/// has whoever reads its command line wait as long: while one is late no other is read, or they
/// would take all threads.
void CommandAnswer::give(const protocol::ExecuteReply& given) const
{
    if (given.left_running.empty() || *services_.stuck_names > 0) {
        conclude(given);
        return;
    }
    auto pending = std::make_shared<Pending>(*this, given);
    try {
        services_.workers.run([pending] { pending->answer.name_left(*pending); },
                              Workers::Kind::brief, call_->asker());
    } catch (const Error&) {
        conclude(pending->reply); // no thread is free
        return;
    }
    // Weak, so that the call is not in use for that long.
    call_->later(name_patience, [weak = std::weak_ptr(pending)] {
        const auto late = weak.lock();
        if (late && late->claim()) {
            ++*late->answer.services_.stuck_names;
            late->answer.conclude(late->reply);
        }
    });
}

void CommandAnswer::name_left(Pending& pending) const
{
    const auto stuck = services_.stuck_names; // which may outlive the rest
    auto left = pending.reply.left_running;
    try {
        for (auto& process : left) {
            auto line = command_line(static_cast<pid_t>(process.pid));
            process.name = line.empty() ? std::move(process.name) : std::move(line);
        }
    } catch (const std::exception&) {
        left = pending.reply.left_running; // of memory there is none: by the names that it has
    }
    if (!pending.claim()) {
        --*stuck;
        return;
    }
    pending.reply.left_running = std::move(left);
    call_->soon([of = *this, reply = pending.reply] { of.conclude(reply); });
}

void CommandAnswer::conclude(const protocol::ExecuteReply& given) const
{
    const auto& quota = services_.quota;
    if (quota && services_.commands.running() == 0 && services_.commands.job_count() == 0) {
        quota->set_commands_run(false);
    }
    const bool has_run = !given.background || given.duration > 0;
    auto pending = std::make_shared<Pending>(*this, given);
    if (!has_run || (!quota && !protection_)) {
        send(pending->reply);
        return;
    }
    if (protection_ && services_.protected_files->is_late()) {
        send_unlooked(pending->reply, no_answer);
        return;
    }
    try {
        services_.workers.run([pending] { pending->answer.look(*pending); }, Workers::Kind::brief,
                              call_->asker());
    } catch (const Error&) {
        send(pending->reply); // no thread is free
        return;
    }
    if (protection_) {
        call_->later(look_patience, [weak = std::weak_ptr(pending)] {
            const auto late = weak.lock();
            if (late && late->claim()) {
                late->answer.services_.protected_files->note_late(/*ended=*/false);
                late->answer.send_unlooked(late->reply, no_answer);
            }
        });
    }
}

} // namespace berth::guest
