#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/sandbox.hpp"
#include "sandbox/session/adoption.hpp"
#include "sandbox/session/collected.hpp"
#include "sandbox/session/key.hpp"
#include "sandbox/session/session_facts.hpp"
#include "sandbox/session/settings.hpp"
#include "sandbox/session/told.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace berth::session {

/// A sandbox for the time of one call, and what the agent must be told with it.
struct Lease : Told {
    std::shared_ptr<sandbox::Sandbox> sandbox;
};

/// Decides which machine a session has. Thread-safe; several processes may serve one session.
///
/// No machine is made before acquire(). Creation, replacement and destruction of one key are
/// serialised by the registry's lock, between threads, processes and, with a shared registry,
/// hosts; a call on a session in use takes no such lock and goes on without a registry, which it
/// asks at most every 30 s for what another server may have changed, and each second whether one
/// that was about to tell something still is: where nobody answers, after ten times as long as that
/// took. It looks at the sources of mounts.
class SessionManager {
  public:
    SessionManager(Settings settings, std::shared_ptr<sandbox::Backend> backend);
    ~SessionManager();
    SessionManager(const SessionManager&) = delete;
    SessionManager& operator=(const SessionManager&) = delete;

    /// What was decided has changed while this server runs: it holds from the next acquire() on, of
    /// living machines as far as they can change (docs/adr/0020-live-terms.md). One that cannot is
    /// replaced once nobody else uses it, and its home kept. Where the state is, and who is told,
    /// stays.
    void change(const Settings& later);

    /// The session's sandbox, made or attached to if need be; a machine that sleeps is waited for
    /// as long as the call may wait that it is for. Throws Error(sandbox_unavailable), Error(busy),
    /// and Error(cancelled) where a stop request came while session.setup ran or the machine woke.
    [[nodiscard]] Lease acquire(const SessionId& id, const sandbox::CallToCome& next = {});

    /// The sandbox in `lease` turned out to be gone (a call threw session_lost): the next acquire()
    /// makes a new one and says so.
    void report_lost(const SessionId& id, const Lease& lease);

    /// Why it is gone, where the books say that it was ended; empty where they do not.
    [[nodiscard]] std::string why_ended(const SessionId& id, const Lease& lease);

    /// A call in `lease` was given up, and what it began may go on: for a minute the next leases
    /// tell of what ended meanwhile.
    void report_doubt(const SessionId& id, const Lease& lease);

    /// The result of a call that a lease told with, or none, was given out and reached nobody: the
    /// next leases tell of it, as of a doubt.
    void report_unread(const SessionId& id, Told told);

    /// What has come to light in the call that was made in `lease`: outcomes that reached nobody,
    /// as of another server of the session that was killed.
    [[nodiscard]] static Told unseen_since(const Lease& lease) noexcept;

    /// What a lease told, and nobody has heard: the next lease has it, and of what is `unheard` the
    /// next server if there is none before close().
    void tell_again(const SessionId& id, Told told);

    /// As Registry::settling().
    [[nodiscard]] std::optional<std::chrono::milliseconds> settling();

    /// Whether this server has a sandbox of it, which may have ended meanwhile. Asks nobody.
    [[nodiscard]] bool uses(const SessionId& id);

    /// Without making anything.
    [[nodiscard]] SessionFacts facts(const SessionId& id);

    /// The same, and what its guest says where the machine is awake. Wakes nothing either, and
    /// takes some seconds at most.
    [[nodiscard]] Sight look(const SessionId& id);
    /// By principal, then by name: as the books have them, and of each that runs whether its
    /// machine is there, for which the backend is asked (a request each at E2B; ten seconds at
    /// most).
    [[nodiscard]] std::vector<SessionFacts> list();
    /// The same sessions, by key, of which the records alone are read.
    [[nodiscard]] std::vector<Named> names();
    /// The same, and of those that run whether they are paused, asked of their guests; some ten
    /// seconds at most.
    [[nodiscard]] std::vector<SessionFacts> list_asked();
    /// Of every machine that lives, asked of its guest.
    [[nodiscard]] std::vector<Activity> activities();

    /// Ends the machine; the home folder stays unless `purge`, and where what is to be saved of it
    /// (`save_on_end`) could not be. `ended` is false when there is none.
    Ended kill(const SessionId& id, bool purge, AtEnd files = AtEnd::save);

    /// Ends the session of which list() shows this: its key, the id of its sandbox, or the name
    /// that was made up for an unnamed one. For sessions that no name leads to: those that another
    /// template of the key has made, and damaged ones. As kill().
    Ended kill_listed(const std::string& shown, bool purge, AtEnd files = AtEnd::save);

    /// The key of a session that has a record: of `id`, else of whatever list() shows as `shown`,
    /// as in kill_listed().
    [[nodiscard]] std::optional<std::string> find_key(const SessionId& id,
                                                      const std::string& shown);

    /// The same, also of a home on this host that no book knows.
    [[nodiscard]] std::optional<std::string> find_home_key(const SessionId& id,
                                                           const std::string& shown);

    /// Of such a home alone, without asking the books.
    [[nodiscard]] std::optional<std::string> key_of_home(const SessionId& id,
                                                         const std::string& shown);

    /// Whose the session of that key is, and its name, as list() shows them; nothing where it has
    /// no record.
    [[nodiscard]] std::optional<SessionId> id_of(const std::string& key);

    /// Whether a machine of the key lives on this host, or may, without asking the books.
    [[nodiscard]] bool lives_here(const std::string& key);

    /// Gives the home of such a key to another session, and ends its machine for it. Throws Error:
    /// docs/sessions.md has what is refused.
    Adopted adopt(const std::string& key, const Adoption& adoption);

    /// See MachineKeeper::adopt_machine().
    Adopted adopt_machine(const std::string& id, const Adoption& adoption);

    // ---- by such a key. None of them makes this a client of the machine, which would keep it from
    // doing what it does when the last one leaves.

    [[nodiscard]] std::optional<Sight> show(const std::string& key);
    /// Nothing where it has no machine that runs. Throw Error as Sandbox::pause().
    [[nodiscard]] std::optional<protocol::PauseReply> pause(const std::string& key);
    [[nodiscard]] std::optional<protocol::ResumeReply> resume(const std::string& key);

    [[nodiscard]] sandbox::Backend& backend() noexcept;

    /// Removes what is provably dead: the unnamed sessions of servers that were killed, what the
    /// machines of named ones left when they died, creations that nobody finishes; and `homes`,
    /// which may take as long as there are files in them, and with which it is saved what is due.
    /// Nothing of a living server or machine is touched, and nobody is waited for: of a session
    /// that is being made or ended just then Collected::busy has the name, where it has a record.
    /// Begins with no other session after the deadline, or when asked to stop.
    Collected collect_leftovers(const Deadline& deadline, const std::stop_token& stop = {},
                                const Homes& homes = {});

    /// Does that in the background, with the old homes, for ten seconds at a time and some times
    /// where that was not enough; then it looks for machines that come late. The first acquire()
    /// does it too, without the homes.
    void start_collecting();

    /// The client has left: commands of named sessions that are stopped from here on are not ended,
    /// but go on as jobs, as when the server is killed. Those of unnamed ones end with them.
    void leave_commands() noexcept;

    /// acquire() refuses from then on. Ends the unnamed sessions of this server and leaves the
    /// machines of the others: of those to which no connection is kept nobody else sees that, so
    /// where this was the last client they are put to sleep, or ended, as their session has it. May
    /// take some seconds. Idempotent: what was let go of is not again, and who calls it while
    /// another does returns when that one is done. The destructor calls it.
    void close() noexcept;

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

} // namespace berth::session
