#pragma once

#include "sandbox/backend.hpp"
#include "sandbox/sandbox.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace berth::session {

/// What the operator decided for the sessions of this server.
struct Settings {
    std::string state_directory; ///< absolute; made 0700 when missing
    std::vector<sandbox::Mount> mounts;
    sandbox::Network network = sandbox::Network::none;
    sandbox::Limits limits;
    std::string path_policy;
    std::chrono::seconds ttl{12 * 3600};
};

/// Whose session and which. An empty `session` is an unnamed one: it ends with this server.
struct SessionId {
    std::string principal;
    std::string session;
};

struct SessionFacts {
    std::string session;
    std::string principal;
    std::string backend;
    std::string sandbox_id;
    std::string state; ///< absent, running
    std::string created; ///< RFC 3339, UTC
    std::string last_used;
    std::string why; ///< when it pauses and ends, and what keeps it awake
    std::string home; ///< on the host, for the operator's own eyes; empty when none
    sandbox::Limits limits;
    sandbox::Network network = sandbox::Network::none;
    std::vector<sandbox::Mount> mounts;
};

/// A sandbox for the time of one call, and what the agent must be told once.
struct Lease {
    std::shared_ptr<sandbox::Sandbox> sandbox;
    std::vector<std::string> notices;
};

/// Decides which machine a session has. Thread-safe; several processes may serve one session.
///
/// No machine is made before acquire(). Creation, replacement and destruction of one key are
/// serialised by a kernel lock on the session's folder, between threads and between processes.
class SessionManager {
  public:
    SessionManager(Settings settings, std::shared_ptr<sandbox::Backend> backend);
    ~SessionManager();
    SessionManager(const SessionManager&) = delete;
    SessionManager& operator=(const SessionManager&) = delete;

    /// The session's sandbox, made or attached to if need be. Throws Error(sandbox_unavailable),
    /// Error(busy).
    [[nodiscard]] Lease acquire(const SessionId& id);

    /// The sandbox in `lease` turned out to be gone (a call threw session_lost): the next acquire()
    /// makes a new one and says so.
    void report_lost(const SessionId& id, const Lease& lease);

    /// Without making anything.
    [[nodiscard]] SessionFacts facts(const SessionId& id);
    [[nodiscard]] std::vector<SessionFacts> list();

    /// Ends the machine; the home folder stays unless `purge`. False when there is none.
    bool kill(const SessionId& id, bool purge);

    [[nodiscard]] sandbox::Backend& backend() noexcept;

    /// Ends the unnamed sessions of this server. Called once, when it stops.
    void close() noexcept;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// SHA-256 over principal and session, unambiguous ("a","bc" and "ab","c" differ): names the
/// session's folder, so no two sessions ever share one.
[[nodiscard]] std::string key_hash(const SessionId& id);

} // namespace berth::session
