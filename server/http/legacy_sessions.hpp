#pragma once

#include "sandbox/base/deadline.hpp"
#include "server/http/tenants.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace berth::server::http {

/// Whose a session is. Who has another profile by another token, or by what became of his own, is
/// not the one whose it is: he would have what that profile keeps from him. How many sessions he
/// may have keeps nothing of this one from him, which would be lost with its name.
struct LegacyOwner {
    std::string principal;
    std::map<std::string, std::string> settings{}; ///< see Caller; without that number

    bool operator==(const LegacyOwner&) const = default;
};

[[nodiscard]] LegacyOwner owner_of(const Caller& caller);

/// The session of a client of an older revision (Mcp-Session-Id): what was negotiated with it, and
/// its requests in flight, which another request of it may cancel.
class LegacySession {
  public:
    LegacySession(LegacyOwner owner, std::shared_ptr<Tenant> tenant, rpc::WorkerPool& pool);
    LegacySession(const LegacySession&) = delete;
    LegacySession& operator=(const LegacySession&) = delete;

    [[nodiscard]] const LegacyOwner& owner() const noexcept { return owner_; }

    [[nodiscard]] rpc::Dispatcher& dispatcher() noexcept { return dispatcher_; }

    /// Whether its tenant can be left once it ends: nobody else holds that, but Tenants itself.
    [[nodiscard]] bool is_last_of_tenant() const noexcept { return tenant_.use_count() <= 2; }

    [[nodiscard]] bool has_calls() { return !dispatcher_.drain(Deadline::after({})); }

  private:
    LegacyOwner owner_;
    std::shared_ptr<Tenant> tenant_;
    mcp::Connection connection_;
    rpc::Dispatcher dispatcher_; ///< its end waits for calls
};

/// Those that there are. Clients seldom say that they go (Claude Code never does), so one without a
/// request for `idle` ends. Thread-safe.
class LegacySessions {
  public:
    /// Of one principal; beyond it the one without a request for longest ends.
    static constexpr std::size_t most_per_principal = 256;

    LegacySessions(rpc::WorkerPool& pool, std::chrono::milliseconds idle) : pool_(pool), idle_(idle)
    {
    }

    /// An id that nobody can guess: it is no password, but what it names is somebody's.
    [[nodiscard]] static std::string make_id();

    /// The new one, which others may have taken the place of by now.
    std::shared_ptr<LegacySession> add(const std::string& id, const LegacyOwner& owner,
                                       std::shared_ptr<Tenant> tenant);

    /// Null: there is none of that id, or it is another's, which nobody learns.
    [[nodiscard]] std::shared_ptr<LegacySession> find(const std::string& id,
                                                      const LegacyOwner& owner);

    /// False as find() is null. Its calls are stopped.
    bool end(const std::string& id, const LegacyOwner& owner);

    /// Ends that of the principal's without a call that was not asked anything for longest, of
    /// those whose tenant can be left then. False: there is none.
    bool end_idle_of(const std::string& principal);

    /// Those of that owner, who can come no more, end once they have no call.
    void leave(const LegacyOwner& owner);

    /// Ends those that are idle, or left.
    void sweep();

    /// Stops the calls of all.
    void stop_calls();

    [[nodiscard]] std::size_t count();

  private:
    using Clock = std::chrono::steady_clock;

    struct Place {
        std::shared_ptr<LegacySession> session;
        Clock::time_point used;
        bool leaves = false;
    };

    using Places = std::map<std::string, Place>;
    using Condition = bool (*)(const std::shared_ptr<LegacySession>&);

    [[nodiscard]] Places::iterator oldest_of(const std::string& principal, Condition may_end);
    [[nodiscard]] std::shared_ptr<LegacySession> take_oldest_of(const std::string& principal);

    rpc::WorkerPool& pool_;
    const std::chrono::milliseconds idle_;
    std::mutex mutex_; ///< guards places_
    Places places_;
};

} // namespace berth::server::http
