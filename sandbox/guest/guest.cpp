#include "sandbox/guest/guest.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/guest/commands.hpp"
#include "sandbox/guest/dispatch.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/exec/oom_score.hpp"
#include "sandbox/guest/files/append_note.hpp"
#include "sandbox/guest/last_words.hpp"
#include "sandbox/guest/lifetime.hpp"
#include "sandbox/guest/parting_note.hpp"
#include "sandbox/guest/pause/pauses.hpp"
#include "sandbox/guest/quota/home_quota.hpp"
#include "sandbox/guest/server.hpp"
#include "sandbox/guest/startup.hpp"
#include "sandbox/guest/terms.hpp"
#include "sandbox/guest/wiping.hpp"
#include "sandbox/guest/workers.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include <unistd.h>

namespace berth::guest {
namespace {

/// The token leaves the config: handlers see that, and have no use for a secret.
Credentials take_credentials(protocol::GuestConfig& config)
{
    Credentials credentials{.token = config.token, .generation = config.generation};
    ::explicit_bzero(config.token.data(), config.token.size());
    config.token.clear();
    return credentials;
}

/// Theirs alone is the environment, of which an idle guest would otherwise have two copies.
protocol::GuestConfig config_of_commands(protocol::GuestConfig& config)
{
    auto environment = std::exchange(config.environment, {});
    protocol::GuestConfig theirs = config;
    theirs.environment = std::move(environment);
    return theirs;
}

std::chrono::milliseconds milliseconds(std::uint64_t count)
{
    return std::chrono::milliseconds(static_cast<std::int64_t>(count));
}

void tell_ready(int fd)
{
    if (fd >= 0) {
        const UniqueFd ready(fd);
        write_full(ready.get(), "R");
    }
}

/// Null where there is no limit.
std::shared_ptr<HomeQuota> limit_home(const protocol::GuestConfig& config, Workers& workers,
                                      Commands& commands)
{
    if (config.quota == 0) {
        return nullptr;
    }
    auto quota = std::make_shared<HomeQuota>(config);
    if (config.quota_by_kernel) {
        return quota; // there is nothing to count, and nobody to be stopped
    }
    try {
        workers.run([quota] { // the first command is measured by it
            try {
                (void)quota->count();
            } catch (...) { // of memory or descriptors there was none left
                quota->doubt();
            }
        });
    } catch (const Error&) {
        quota->doubt(); // no thread to be had: then by what it finds itself
    }
    commands.watch_quota(workers, quota);
    return quota;
}

PauseController::Policy policy_of(const protocol::GuestConfig& config)
{
    return {.idle_pause = milliseconds(config.idle_pause), .on_disconnect = config.on_disconnect};
}

/// As is_used(), or by a job that sleeps; whoever asks is none of its clients. But what an agent of
/// that server's began, and has not read the end of, it is about to ask for.
bool is_in_use(const Server& server, const std::string& asker, bool but_jobs, const Pauses& pauses,
               const Commands& commands)
{
    const bool runs = pauses.calls() > 0 || commands.job_count() > 0 || commands.has_delayed() ||
                      (server.attends(asker) && commands.has_unread());
    return server.clients(asker) > 0 || (runs && !but_jobs);
}

/// `life`: by the time of the first call.
auto term_changer(Commands& commands, Pauses& pauses, Lifetime* const& life,
                  const std::shared_ptr<HomeQuota>& quota)
{
    return [&commands, &pauses, &life, quota](const protocol::Terms& wanted) {
        return change_terms(
            wanted,
            {.commands = commands, .pauses = pauses, .lifetime = *life, .quota = quota.get()});
    };
}

/// `clients`: by the time of the first call.
auto use_looker(Server* const& clients, const Pauses& pauses, const Commands& commands)
{
    return [&clients, &pauses, &commands](const std::string& asker, bool but_jobs) {
        return is_in_use(*clients, asker, but_jobs, pauses, commands);
    };
}

/// By a client, a call, or a job that does not sleep.
bool is_used(const Server& server, const Pauses& pauses, const Commands& commands)
{
    return server.clients() > 0 || pauses.calls() > 0 || commands.has_delayed() ||
           (commands.job_count() > 0 && !pauses.is_paused());
}

/// The ways out of the loop.
class Exit {
  public:
    /// `clients`: by the time of the first of them.
    Exit(EventLoop& loop, int parting_fd, const Commands& commands, Server* const& clients)
        : loop_(loop), note_(parting_fd), commands_(commands), clients_(clients)
    {
    }

    [[nodiscard]] std::function<void()> now() const
    {
        return [this] { loop_.stop(); };
    }

    [[nodiscard]] std::function<void()> noting(protocol::Parting why) const
    {
        return [this, why] {
            // A call whose beginning came in the same moment is not read, and its server is told by
            // that: begun and ended behind the note, what became of it would be known to nobody.
            clients_->stop_reading();
            write(why);
            loop_.stop();
        };
    }

    /// Where nobody finds it any more.
    [[nodiscard]] std::function<void()> if_abandoned() const
    {
        return [this] {
            if (note_.is_removed()) {
                clients_->stop_reading();
                loop_.stop();
            }
        };
    }

    /// Within a second: whoever asked for it reads the answer, and has asked before what nobody was
    /// told of.
    [[nodiscard]] std::function<void()> retired() const
    {
        return [this] {
            note_.write(protocol::Parting::retired);
            (void)loop_.call_at(BootClock::now() + std::chrono::seconds(1), now());
        };
    }

  private:
    /// Nobody can ask any more what became of commands.
    void write(protocol::Parting why) const noexcept
    {
        std::string words;
        try {
            words = last_words(commands_.jobs(), commands_.ended_jobs(),
                               commands_.forgotten_unseen() + commands_.forgotten_expected() +
                                   commands_.forgotten_lent());
        } catch (const std::exception&) {
            words.clear(); // of memory there is none; why it ends is noted all the same
        }
        note_.write(why, words);
    }

    EventLoop& loop_;
    const PartingNote note_;
    const Commands& commands_;
    Server* const& clients_;
};

void hear_of_clients(Server& server, Lifetime& lifetime, Pauses& pauses,
                     std::function<void()> contacted)
{
    server.on_clients_changed([&lifetime, &pauses] {
        lifetime.used();
        pauses.clients_changed();
    });
    server.on_contact(std::move(contacted));
}

EventLoop::ReadBuffer& read_buffer()
{
    static EventLoop::ReadBuffer buffer;
    return buffer;
}

/// What nobody was told of, to servers that are here.
void tell_of_outcomes(Server& server, Commands& commands)
{
    server.on_unseen_wanted([&] { return commands.has_unseen(); });
    server.on_departure(
        [&] { commands.leave([&](const std::string& name) { return server.is_here(name); }); });
    commands.on_left_unseen([&] { server.note_unseen(); });
}

/// Until the guest is to end.
void run_frugally(EventLoop& loop, Commands& commands, Pauses& pauses, int ready_fd)
{
    tell_ready(ready_fd);
    release_idle_memory(); // what making the machine took
    loop.on_rest(std::chrono::seconds(1), [&] {
        commands.forget_readings();
        pauses.forget_readings();
        loop.release_read_buffer();
        release_idle_memory();
    });
    loop.run();
}

/// The rest is not taken apart: a worker on a hung mount would hold up the end for ever.
[[noreturn]] void wind_up(Pauses& pauses, std::unique_ptr<Commands> commands)
{
    pauses.close();
    commands.reset();
    pauses.release();
    ::_exit(0);
}

[[noreturn]] void serve(protocol::GuestConfig config, OomScore oom_score)
{
    wipe_what_is_freed();
    auto credentials = take_credentials(config);
    EventLoop loop(read_buffer());
    SessionState session(config.home);
    Workers workers;
    auto commands =
        std::make_unique<Commands>(loop, workers, config_of_commands(config), session,
                                   std::move(oom_score), ShellProgram::find(), random_hex(2));
    const auto quota = limit_home(config, workers, *commands);
    Server* clients = nullptr;
    const Exit exit(loop, config.parting_fd, *commands, clients);
    Lifetime* life = nullptr;
    MemoryReclaim reclaim(loop, workers, config.commands_cgroup_fd);
    Pauses pauses(loop, *commands,
                  {.policy = policy_of(config),
                   .commands_cgroup_fd = config.commands_cgroup_fd,
                   .v1_freezer_fd = config.v1_freezer_fd,
                   .clients = [&] { return clients != nullptr ? clients->clients() : 0; },
                   .end = exit.noting(protocol::Parting::left),
                   .reclaim = &reclaim});
    const Dispatcher dispatcher({.config = config,
                                 .session = session,
                                 .workers = workers,
                                 .commands = *commands,
                                 .pauses = pauses,
                                 .connections = [&] { return clients->connections(); },
                                 .ends_in = [&] { return life->ends_in(); },
                                 .end = exit.now(),
                                 .stop_reading = [&] { clients->stop_reading(); },
                                 .end_soon = exit.retired(),
                                 .change_terms = term_changer(*commands, pauses, life, quota),
                                 .in_use_beside = use_looker(clients, pauses, *commands),
                                 .quota = quota});
    Server server(loop, UniqueFd(config.listen_fd), std::move(credentials),
                  [&](const auto& call, protocol::Frame request) {
                      dispatcher.begin(call, std::move(request));
                  });
    clients = &server;
    Lifetime lifetime(loop,
                      {.lifetime_fd = config.lifetime_fd,
                       .idle_end = milliseconds(config.idle_end),
                       .in_use = [&] { return is_used(server, pauses, *commands); },
                       .at_look = exit.if_abandoned(),
                       .unused = exit.noting(protocol::Parting::unused)},
                      exit.now());
    life = &lifetime;
    hear_of_clients(server, lifetime, pauses, exit.if_abandoned());
    tell_of_outcomes(server, *commands);
    run_frugally(loop, *commands, pauses, config.ready_fd);
    wind_up(pauses, std::move(commands));
}

} // namespace

void run(protocol::GuestConfig config) noexcept
{
    try {
        keep_only_descriptors_of(config);
        auto oom_score = config.run_as ? OomScore::spared() : OomScore::of_this_process();
        confine_process(config.run_as);
        make_directories(config);
        take_back_appends(config);
        serve(std::move(config), std::move(oom_score));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "berth-guest: %s\n", error.what());
        ::_exit(1);
    }
}

} // namespace berth::guest
