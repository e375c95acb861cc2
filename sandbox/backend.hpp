#pragma once

#include "sandbox/base/error.hpp"
#include "sandbox/channel.hpp"
#include "sandbox/protocol/on_disconnect.hpp"
#include "sandbox/protocol/parting.hpp"
#include "sandbox/right.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace berth::sandbox {

struct Mount {
    std::string source; ///< absolute, on the host
    std::string target; ///< absolute, in the sandbox
    bool writable = false;

    friend bool operator==(const Mount&, const Mount&) = default;
};

/// From less to more. Filtered: what `Filter` allows, through berth's proxy.
enum class Network : unsigned char { none, filtered, host };

[[nodiscard]] constexpr std::string_view word_of(Network network) noexcept
{
    return network == Network::none ? "none" : network == Network::host ? "host" : "filtered";
}

/// Of what nobody knows: none.
[[nodiscard]] constexpr Network network_of(std::string_view word) noexcept
{
    return word == "host" ? Network::host : word == "filtered" ? Network::filtered : Network::none;
}

/// Of a network that is filtered: rules as filter::Rules takes them, checked by whoever was told
/// them.
struct Filter {
    std::vector<std::string> allow; ///< nothing else is reached
    std::vector<std::string> deny;  ///< nor what is allowed, where it is denied
    /// Ranges of this host and of the networks it is in that may be, by what is allowed.
    std::vector<std::string> inner;
    /// Secrets that the proxy alone puts in: NAME=https://HOST[:PORT][?] or http://, as
    /// filter::parse_secret_rule takes it. Commands have a placeholder of each.
    std::vector<std::string> secrets{};
    /// TLS to the places of secrets with https:// is opened; else there is none among them.
    bool intercept = false;
    /// Bytes that a machine may send; 0: as many as it likes.
    std::uint64_t max_sent = 0;

    friend bool operator==(const Filter&, const Filter&) = default;
};

/// Of the host's network, where the backend can keep commands to a part of it: addresses,
/// ranges and domains. What is allowed is, though it be denied.
struct Outbound {
    std::vector<std::string> allow; ///< empty: all that is not denied
    std::vector<std::string> deny;  ///< empty, with `allow`: everything else

    friend bool operator==(const Outbound&, const Outbound&) = default;
};

/// What a machine reaches, whole: `outbound` where the network is the host's, `filter` where it is
/// filtered.
struct Reachable {
    Network network = Network::none;
    Outbound outbound{};
    Filter filter{};
};

struct Limits {
    std::uint64_t memory = 2ULL << 30U; ///< bytes
    std::uint32_t pids = 512;
    double cpus = 2;
    std::uint64_t nofile = 4096;
    std::uint32_t calls = 8; ///< commands at once
    std::uint32_t jobs = 16;
    std::uint64_t spill_stream = 64ULL << 20U;
    std::uint64_t spill_session = 1ULL << 30U;
    std::uint64_t quota = 0; ///< bytes of the home; 0: not limited

    friend bool operator==(const Limits&, const Limits&) = default;
};

/// Which of a living machine's limits were changed.
struct ChangedLimits {
    bool memory = false;
    bool pids = false;
    bool cpus = false;
    bool quota = false;
};

/// What a machine shall be. Immutable for the machine's life but for docs/adr/0020-live-terms.md.
struct MachineSpec {
    std::string key_hash;   ///< names folders, cgroups and sockets; 64 hex digits
    std::string session;    ///< as the operator named it, for messages
    std::string generation; ///< fresh for every machine
    std::string token;      ///< the guest's secret
    /// MachineRecord::home of the key's last machine, whose files it shall have; empty: it had
    /// none, or the key says where they are.
    std::map<std::string, std::string> home;
    /// Whose programs it has, as the backend takes it; empty: the backend's own.
    std::string template_name;
    std::vector<Mount> mounts;
    Network network = Network::none;
    Outbound outbound;
    Filter filter;
    Limits limits;
    std::map<std::string, std::string> environment; ///< on top of the standard one
    std::string path_policy;
    /// What locks the session for others of this host until its last descriptor is closed; -1:
    /// nothing. Whatever process makes something of the machine on the server's behalf, and may
    /// live on when that is killed, holds it for as long.
    int lock = -1;
    /// Throws Error(busy) where another server may make the session's machine by now, so that
    /// nothing of that one's is touched; empty: nobody does. Called in create() and adopt() alone.
    Right require_right{};
    /// An unnamed session ends with its server: the guest holds the read end of a pipe whose write
    /// end only this server has.
    bool ends_with_server = false;
    std::chrono::milliseconds idle_end{0};   ///< the guest ends itself after so long without use
    std::chrono::milliseconds idle_pause{0}; ///< and pauses after so long without call and job
    protocol::OnDisconnect on_disconnect = protocol::OnDisconnect::idle;

    void check_right() const { require(require_right); }
};

/// What must be remembered to find a machine again, in any process. Written to the registry.
struct MachineRecord {
    std::string backend;
    std::string id; ///< the sandbox id that users see
    std::string generation;
    /// The backend's own, and "key_hash"; "home", if set, is the home folder's path on the host.
    std::map<std::string, std::string> data;
    /// Where its files are, also when it has ended: the backend's own. Empty where the key says it.
    std::map<std::string, std::string> home;
    /// Of a machine that was made a moment ago: its home was made with it, so nothing is lost by
    /// purging it. Not written to the books.
    bool made_home = false;

    friend bool operator==(const MachineRecord&, const MachineRecord&) = default;
};

/// What confines a machine, as found when it was made; shown by session_info and doctor.
struct Layer {
    std::string
        name; ///< userns, pidns, netns, cgroup-memory, cgroup-pids, cgroup-kill, seccomp ...
    bool in_force = false;
    std::string detail; ///< how, or why not and what would bring it
};

/// Whether the layer is known not to be in force.
[[nodiscard]] inline bool is_missing(const std::vector<Layer>& layers, std::string_view name)
{
    return std::any_of(layers.begin(), layers.end(),
                       [&](const Layer& layer) { return layer.name == name && !layer.in_force; });
}

/// How the guest of a machine is reached.
struct Reach {
    /// A connection carries one call after the other, and its end is news. Else each call has one
    /// of its own, which is made with the beginning of it and of whose end the guest may hear
    /// nothing (docs/adr/0016-e2b-channel.md).
    bool kept = true;
    std::size_t opening =
        0; ///< of one that is not: so many bytes of it are sent with the connection
    /// Of one that is not: for how long whoever works there is taken to be there after its last
    /// call.
    std::chrono::milliseconds lease{0};
    /// How long the guest may be silent, or not be reached, before it counts as stuck. None: the
    /// one who asks knows.
    std::optional<std::chrono::milliseconds> patience{};
};

/// One sandboxed machine with a guest in it. Thread-safe. Destroying the object leaves the machine
/// as it is.
class Machine {
  public:
    Machine() = default;
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    virtual ~Machine() = default;

    [[nodiscard]] virtual const MachineRecord& record() const noexcept = 0;
    [[nodiscard]] virtual const std::vector<Layer>& layers() const noexcept = 0;

    /// Sources of mounts where the host has something else by now, or nothing: the machine still
    /// shows what was there when it was made. Asked for each call: never waits for a network.
    [[nodiscard]] virtual std::vector<std::string> replaced_mounts() const { return {}; }

    /// Has what stands on the machine's way out go by these values of MachineSpec::filter.secrets,
    /// by name, from now on; nothing of them reaches the machine. Throws Error where that cannot be
    /// said.
    virtual void bring_secrets(const std::map<std::string, std::string>& /*values*/)
    {
        throw Error(ErrorCode::unsupported,
                    "no proxy stands before this machine that could put secrets in");
    }

    /// A new connection to the guest. Throws Error(session_lost) when the machine is gone.
    [[nodiscard]] virtual std::unique_ptr<Channel> connect(const Deadline& deadline) = 0;

    /// The same for one call, where none is kept; `opening` is what is sent first, as a part of
    /// what connects. `token`: the guest's secret, for a way that others can read. Throws Unsent
    /// where it is certain that the guest has had none of it; any other Error leaves that open, and
    /// as Unanswered says that asking again may tell.
    /// Nobody asks such a guest whether it is there: what this returns breaks by itself when the
    /// way to it is dead. After a stop request nothing is sent any more, which is Unsent too; what
    /// was sent by then is not taken back.
    [[nodiscard]] virtual std::unique_ptr<Channel> open(const Deadline& deadline,
                                                        std::string_view opening,
                                                        const std::string& /*token*/,
                                                        const std::stop_token& /*stop*/)
    {
        auto channel = connect(deadline);
        channel->send(opening);
        return channel;
    }

    /// The same for what is not worth a wake, nor a longer time for the machine: throws Unsent
    /// where it sleeps, or may. Tries once.
    [[nodiscard]] virtual std::unique_ptr<Channel>
    open_awake(const Deadline& deadline, std::string_view opening, const std::string& token)
    {
        return open(deadline, opening, token, {});
    }

    /// It will be used for so long from now, by a call or a job: a machine that somebody else stops
    /// at a time of its own is kept from that. Waits for nothing.
    virtual void expect(std::chrono::milliseconds /*time*/) noexcept {}

    /// From now on it is to sleep after so long without use; 0: never, as far as that can be. Of
    /// machines whose host has them sleep. Waits for nothing.
    virtual void rests_after(std::chrono::milliseconds /*idle*/) noexcept {}

    /// Whether it may sleep, with all that is in it, so that nothing but work shall be asked of its
    /// guest: that would wake it. Only of machines whose host has them sleep. Waits for nothing.
    [[nodiscard]] virtual bool may_sleep() const noexcept { return false; }

    /// Of a machine whose host has it sleep: in how long that is, where nobody uses it any more.
    /// Nothing: its guest knows, or it was not asked. Waits for nothing.
    [[nodiscard]] virtual std::optional<std::chrono::milliseconds> sleeps_in() const noexcept
    {
        return std::nullopt;
    }

    /// Has it sleep with all that is in it; false: its guest alone can pause it. The next open()
    /// wakes it. Nobody may have a channel.
    virtual bool suspend(const Deadline& /*deadline*/) { return false; }

    /// Always the same of one machine.
    [[nodiscard]] virtual Reach reach() const noexcept { return {}; }
};

/// One thing that `berth doctor` tried, and what came of it.
struct Check {
    std::string name; ///< of the layer: userns, pidns, cgroup-memory ...; "create": the machine
    bool ok = false;
    std::string detail; ///< how it was tried and what happened
    std::string remedy; ///< when not ok: the exact line that helps, empty when none is known
};

struct Availability {
    bool available = false;
    std::string reason;                              ///< when not: what blocks it
    std::string remedy;                              ///< and the exact line that would help
    ErrorCode code = ErrorCode::sandbox_unavailable; ///< of a call that wants a machine then
};

/// A machine that was found without the books.
struct FoundMachine {
    MachineRecord record;          ///< by which destroy() ends it, and nothing else
    std::chrono::seconds slept{0}; ///< for how long nobody has used it
};

/// A kind of machine. Thread-safe.
class Backend {
  public:
    Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;
    virtual ~Backend() = default;

    [[nodiscard]] virtual std::string_view name() const noexcept = 0;

    /// Whether its machines, and their homes, are on the host of whoever makes them: nobody else
    /// can attach to one, or tell whether it lives.
    [[nodiscard]] virtual bool is_bound_to_host() const noexcept { return true; }

    /// Whether its machines end by themselves, as MachineSpec has it, when nobody uses them or the
    /// last server has left. Else whoever collects, or is the last one, sees to it.
    [[nodiscard]] virtual bool ends_machines() const noexcept { return true; }

    /// Whether a machine that is made anew, with the home of the last one, is as its server asks.
    /// Else what was there from the beginning (template, network) stays with the home.
    [[nodiscard]] virtual bool renews_machines() const noexcept { return true; }

    /// Cheap after the first call that says yes; makes no machine that stays. A no may be one of
    /// the moment: ask again before the next attempt.
    [[nodiscard]] virtual Availability availability() = 0;

    /// Which limits a machine would have that is made now, as far as that is known without making
    /// one: cgroup-memory, cgroup-pids, cgroup-cpu as in Machine::layers(). Empty: nobody knows.
    [[nodiscard]] virtual std::vector<Layer> limit_layers() { return {}; }

    /// For whom it makes machines, where another's would not be found: stands at the end of each
    /// generation, so that it is known of a creation of which nothing else is. At most 64 letters
    /// and digits.
    [[nodiscard]] virtual std::string account() const { return {}; }

    /// Whether a machine can be made as `spec` says, as far as that is known without making one
    /// beside the session's present one, which is to end for it.
    [[nodiscard]] virtual Availability can_make(const MachineSpec& /*spec*/)
    {
        return {.available = true};
    }

    /// Makes a machine whose guest answers. Throws Error(sandbox_unavailable) with the blocker and
    /// its remedy, and leaves nothing behind.
    [[nodiscard]] virtual std::unique_ptr<Machine> create(const MachineSpec& spec) = 0;

    /// The machine of a record if it still lives, null if it is certain that it does not. Throws a
    /// retryable Error when neither can be told: the machine must not be replaced then.
    [[nodiscard]] virtual std::unique_ptr<Machine> attach(const MachineRecord& record) = 0;

    /// Ends the machine of a record and removes what it occupied: processes, cgroups, socket,
    /// temporary folders, and with `purge` the home too. Idempotent.
    ///
    /// `data` always has "key_hash". A record whose `id` is empty and that has nothing else but,
    /// perhaps, its generation and its home is of a creation that was interrupted (its server was
    /// killed): whatever that key occupies is removed, or where machines are not bound to a host
    /// that generation, and what is in that home.
    virtual void destroy(const MachineRecord& record, bool purge) = 0;

    /// destroy() by who may lose the right to it meanwhile: `may` throws then, and is asked before
    /// each thing that is done to the machine, and before that is done again.
    virtual void destroy_while(const MachineRecord& record, bool purge, const Right& may)
    {
        require(may);
        destroy(record, purge);
    }

    /// Ends the guest of a machine that is just being made, whoever makes it: that one is told by
    /// the guest's end, and undoes the rest. Of a record as of an interrupted creation (see
    /// destroy()). Nothing where there is none, or it cannot be reached: it is waited for then.
    /// Where guests have notes, parting() says protocol::Parting::asked from then on.
    virtual void interrupt(const MachineRecord& /*record*/) {}

    /// Whether it is certain that the machine of a record does not exist any more; one that merely
    /// does not answer does. Of a record as of an interrupted creation (see destroy()): that
    /// nothing of the key lives on this host, whoever made it.
    [[nodiscard]] virtual bool is_gone(const MachineRecord& /*record*/) { return false; }

    /// How the guest of a machine that is gone has ended, by its note; nothing where it had none,
    /// as of an earlier release, or somebody has cleared up after it.
    [[nodiscard]] virtual std::optional<protocol::Parting> parting(const MachineRecord& /*record*/)
    {
        return std::nullopt;
    }

    /// What the guest of such a machine wrote with that note of what nobody was told of: an
    /// encoded protocol::InfoReply with nothing else in it, of at most
    /// protocol::longest_last_words. Empty: nothing.
    [[nodiscard]] virtual std::string last_words(const MachineRecord& /*record*/) { return {}; }

    /// Has the limits of memory, processes, processors and the home hold for a living machine, as
    /// far as they are kept from outside of it, and nothing that it uses by now is above the new
    /// one; only a home may have more than it is given, and then must not grow. By the session's
    /// key: what a record says of itself may be another's word, in shared books.
    [[nodiscard]] virtual ChangedLimits change_limits(const std::string& /*key_hash*/,
                                                      const Limits& /*limits*/)
    {
        return {};
    }

    /// Whether change_network() can do it.
    [[nodiscard]] virtual bool changes_networks() const noexcept { return false; }

    /// Has a living machine reach what is said, from now on, `may` as for destroy_while(). Returns
    /// what commands that begin there from then on have in their environment, the whole of it;
    /// empty: what they had. Throws Error: what it can reach is not known then.
    virtual std::map<std::string, std::string> change_network(const MachineRecord& /*record*/,
                                                              const Reachable& /*reachable*/,
                                                              const Right& /*may*/ = {})
    {
        return {};
    }

    /// The home that a key has on this host, as people look for it; empty where there is none.
    [[nodiscard]] virtual std::string find_home(const std::string& /*key_hash*/) { return {}; }

    /// Whether these name one machine, as people write them and as records have them.
    [[nodiscard]] virtual bool is_same_id(const std::string& one, const std::string& other) const
    {
        return one == other;
    }

    /// Gives the session of `spec.key_hash`, which has nothing yet, what is known by `id`: the key
    /// of another session, whose machine has ended and whose home becomes this one's (`spec.home`,
    /// or by the key); or, of machines that are bound to no host, and with no `spec.home`, the id
    /// of a machine that somebody made. Returns the machine where it lives on; null: only its home
    /// does, for the next create(). All or nothing, also where this process dies meanwhile. Under
    /// the locks of both. Throws Error; find_home() says then whose the home is.
    [[nodiscard]] virtual std::unique_ptr<Machine> adopt(const std::string& id,
                                                         const MachineSpec& /*spec*/)
    {
        throw Error(ErrorCode::unsupported,
                    "the backend " + std::string(name()) + " cannot take over " + id,
                    "Copy what is needed through the workspace.");
    }

    /// MachineRecord::home of a record, also where an earlier release has written none.
    [[nodiscard]] virtual std::map<std::string, std::string>
    home_of(const MachineRecord& record) const
    {
        return record.home;
    }

    /// Of an interrupted creation (see destroy()) of a machine that is bound to no host: the home
    /// that it has made, as MachineRecord::home. Empty: none, as far as is known by now.
    [[nodiscard]] virtual std::map<std::string, std::string>
    home_made_by(const MachineRecord& /*record*/)
    {
        return {};
    }

    /// Removes what dead machines left that no record tells of. Never touches a living one's, nor
    /// one that is being made. Stops at the deadline.
    virtual void collect(const Deadline& /*deadline*/) {}

    /// This process is about to end, without destroying the backend: what waits for machines to
    /// come, and would outlive it, is removed. What is under way may go on. Takes milliseconds.
    virtual void leave() noexcept {}

    /// Of machines that are bound to no host those that were made with these books from here, and
    /// sleep, whatever the books say of them: one that they have lost stays for ever. Never one of
    /// another installation's, or of somebody's own.
    [[nodiscard]] virtual std::vector<FoundMachine> find_machines(const Deadline& /*deadline*/)
    {
        return {};
    }

    /// Of machines that are bound to no host: for how long nobody has used what is in the home of
    /// this record, whatever the books say, which may have come back as they were a while ago.
    /// Nothing: somebody may be using it now. As long as can be where it is not there any more.
    [[nodiscard]] virtual std::optional<std::chrono::seconds>
    unused_for(const MachineRecord& /*record*/)
    {
        return std::nullopt;
    }

    /// How the model is told of the machine: "a Linux namespace sandbox on this host ..."
    [[nodiscard]] virtual std::string description() const = 0;
};

} // namespace berth::sandbox
