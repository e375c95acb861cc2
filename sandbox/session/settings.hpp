#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/session/machine_setup.hpp"
#include "sandbox/session/place.hpp"
#include "sandbox/session/redis_url.hpp"
#include "sandbox/session/save_on_end.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace berth::session {

/// What a machine is made with; some of it changes while it lives (docs/adr/0020-live-terms.md).
struct Conditions {
    std::string template_name; ///< empty: the backend's own programs
    std::vector<sandbox::Mount> mounts;
    sandbox::Network network = sandbox::Network::none;
    sandbox::Outbound outbound;
    sandbox::Filter filter;
    sandbox::Limits limits;
    std::string path_policy;
    std::chrono::seconds ttl{12 * 3600};
    /// How long the home is kept without a machine; 0: until somebody removes it. Not the
    /// machine's: what the operator says later holds too.
    std::chrono::seconds home_retention{7 * 24 * 3600};
    /// A profile says it, of the sessions that it makes: whoever clears up goes by it, whatever
    /// that server was told for all (docs/adr/0036-retention-of-a-profile.md).
    bool own_retention = false;
    std::chrono::milliseconds idle_pause{300'000}; ///< 0: never
    protocol::OnDisconnect on_disconnect = protocol::OnDisconnect::idle;
    SaveOnEnd save_on_end; ///< not the machine's either: of its home, when it has ended

    friend bool operator==(const Conditions&, const Conditions&) = default;
};

using TellOfLeft = std::function<void(const std::string& machine, const std::string& why)>;

/// What the operator decided for the sessions of this server.
struct Settings : Conditions {
    std::string state_directory; ///< absolute; made 0700 when missing
    /// The books of several hosts; nothing: those of this host, in the state directory.
    std::optional<RedisAddress> redis;
    std::optional<Place> place; ///< with `redis`: where this server makes machines
    /// Keys of the settings that somebody gave, "mount" or "local.memory". A server that was told
    /// nothing takes a machine as it is.
    std::set<std::string, std::less<>> asked;
    /// What the operator says beside a profile of the homes of all sessions but those that have
    /// their own retention; nothing: each is kept as long as its machine was made with.
    std::optional<std::chrono::seconds> told_retention;
    /// A machine that was made with a writable mount is none for this server.
    bool mounts_read_only = false;
    /// Files that no sandbox of this server may write, whoever has made it: the server's settings,
    /// and those that secrets are read from.
    std::vector<std::string> out_of_reach;
    /// Of every machine that this server makes; not a condition of those that live.
    Setup setup;
    /// Sessions with a machine, in the whole state directory and of one principal; 0: any number.
    std::size_t max_sessions = 0;
    std::size_t max_sessions_per_principal = 0;
    /// How long acquire() waits for another call of this server that is making the machine, then
    /// for another server, and then for those that count sessions.
    std::chrono::milliseconds lock_wait{30'000};
    /// The first acquire() has what is dead cleared up. False where another manager of this process
    /// does that.
    bool collects = true;
    /// Told the session of each machine that was lost, by whoever clears up after it; not of those
    /// that a restart of the host ended. May be called by any thread; must not throw. May be empty.
    std::function<void(const std::string& session)> on_lost;
    /// The same of each session whose home was removed because nobody used it.
    std::function<void(const std::string& session)> on_removed;
    /// Makes the folder of this host that is mounted where nobody named one, should it have gone:
    /// called before each machine is made. Throws Error. May be empty.
    std::function<void()> make_workspace;
    /// Do what `save_on_end` of a session that has ended asks for. Both, or neither.
    ChooseFolder choose_folder;
    SaveFiles save;
    /// Clears up the workspace, with each collection that removes old homes. May be empty.
    SweepSaves sweep_saves;
    /// Told of each time that `save` was done by a collection; and of each reason why it could not
    /// be, by a collection once, and by each attempt to end the session. As on_lost.
    std::function<void(const SavedFiles& saved)> on_saved;
    std::function<void(const std::string& session, const std::string& why)> on_unsaved;
    /// Told of each unnamed session that could not be ended with its server: which machine is left
    /// (empty: one that was being made), and why. As on_lost.
    TellOfLeft on_left;
};

/// `running`, with what of `later` holds for a server that runs: the conditions, what its machines
/// may write and are set up with, how many sessions there may be, how long homes are kept that have
/// no retention of their own, how the folder is made that is mounted where nobody named one. Where
/// its state and its books are stays, which workspace files are saved to, and who is told. What was
/// asked for once is so still, where it went back to a default too, and so is `told_retention`:
/// that is what living machines and homes are to have.
[[nodiscard]] Settings with_later(Settings running, const Settings& later);

/// Whether with_later() of `running` is as that was.
[[nodiscard]] bool is_same(const Settings& running, const Settings& later);

/// How long is kept what no settings are known of; 0: until somebody removes it.
[[nodiscard]] std::chrono::seconds usual_retention(const Settings& settings);

/// This server, for people: its process and, where several hosts share the books, its host.
[[nodiscard]] std::string own_name(const Settings& settings);

/// The keys of `settings.asked` in which a machine that was made with `made` is another, in order.
[[nodiscard]] std::vector<std::string> differences(const Settings& settings,
                                                   const Conditions& made);

/// Whether `settings` ask for a machine that one which was made with `made` cannot become: of
/// another template, other mounts, network or path policy.
[[nodiscard]] bool need_another(const Settings& settings, const Conditions& made);

/// What a machine that was made with `made` can reach although `settings` asks for less: the host's
/// network, a mount. Each as the flags would say it. Empty: nothing.
[[nodiscard]] std::vector<std::string> excess(const Settings& settings, const Conditions& made);

/// What `settings` asks for of those, and a machine that was made with `made` has not.
[[nodiscard]] std::vector<std::string> instead(const Settings& settings, const Conditions& made);

/// Says that the machine `id`, which was made with `made`, is not what this server was told to
/// make; empty where it is. `renews`: as Backend::renews_machines(). `obstacle`: why that one
/// cannot be made now, in sentences; empty: it could.
[[nodiscard]] std::string settings_notice(const Settings& settings, const Conditions& made,
                                          const std::string& id, bool renews,
                                          const std::string& obstacle);

} // namespace berth::session
