#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "server/application.hpp"
#include "server/http/caller.hpp"
#include "server/rpc/worker_pool.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace berth::server::http {

/// One session of one caller: what a server on stdio is for its client, with settings, books and
/// machine of its own.
class Tenant {
  public:
    Tenant(std::unique_ptr<Application> application, rpc::WorkerPool& pool);
    Tenant(const Tenant&) = delete;
    Tenant& operator=(const Tenant&) = delete;

    [[nodiscard]] Application& application() noexcept { return *application_; }

    /// Of requests that stand by themselves, each with a scope of its own.
    [[nodiscard]] rpc::Dispatcher& dispatcher() noexcept { return dispatcher_; }

    using Clock = std::chrono::steady_clock;

    /// A request has ended just now.
    void note_use() noexcept { used_ = Clock::now(); }

    [[nodiscard]] Clock::time_point last_use() const noexcept { return used_; }

  private:
    std::unique_ptr<Application> application_;
    std::atomic<Clock::time_point> used_{Clock::now()};
    mcp::Connection connection_;
    rpc::Dispatcher dispatcher_; ///< its end waits for calls
};

/// A principal has all the sessions that it may have, and each has a call, or a client of an older
/// revision: none can be left for a new one, however long one waits.
class AllHeld : public Error {
  public:
    using Error::Error;
};

/// Those that there are. One that nobody has called for `idle` is left, as a client leaves that
/// goes: its machine lives on by its own settings, and the next call finds it again. Thread-safe.
class Tenants {
  public:
    /// Throws Error for a session that cannot be served.
    using Make = std::function<std::unique_ptr<Application>(const Caller&, const std::string&)>;

    /// Of one principal; beyond it the one that was not called for longest is left, so that names
    /// that a client makes up cost no memory without end.
    static constexpr std::size_t most_per_principal = 256;

    Tenants(Make make, rpc::WorkerPool& pool, std::chrono::milliseconds idle);
    /// Leaves all.
    ~Tenants();
    Tenants(const Tenants&) = delete;
    Tenants& operator=(const Tenants&) = delete;

    /// `session`: its name, never empty. Held by whoever works on a request of it. Throws Error:
    /// AllHeld, or `busy` where those that are being left make room in a moment.
    [[nodiscard]] std::shared_ptr<Tenant> get(const Caller& caller, const std::string& session);

    /// Leaves what is there for a caller like that, as soon as it has no call, unless it is called
    /// again: with other settings the same session is another one here, and that one beside it.
    void leave(const Caller& caller);

    /// Those that there are, and those that are being left: a server that ends sees to these too.
    [[nodiscard]] std::vector<std::shared_ptr<Tenant>> all();

    void for_each(const std::function<void(Tenant&)>& visit);

    /// Without those that are being left.
    [[nodiscard]] std::size_t count();

  private:
    using Clock = Tenant::Clock;
    /// Principal, what holds for the caller beside its name, and session.
    using Key = std::tuple<std::string, std::map<std::string, std::string>, std::string>;

    struct Place {
        std::mutex making;
        std::shared_ptr<Tenant> tenant; ///< under `making`
        Clock::time_point used;         ///< under mutex_
        bool leaves = false;            ///< under mutex_: unless it is called again
    };

    [[nodiscard]] static bool is_free(const std::shared_ptr<Place>& place);
    [[nodiscard]] static Clock::time_point last_use(const Place& place);
    void make_room(const std::string& principal);
    void sweep(const std::stop_token& stop);
    [[nodiscard]] std::vector<std::shared_ptr<Tenant>> take_idle();
    void drop_left();

    const Make make_;
    rpc::WorkerPool& pool_;
    const std::chrono::milliseconds idle_;
    std::mutex mutex_; ///< guards what follows
    std::map<Key, std::shared_ptr<Place>> places_;
    std::vector<std::shared_ptr<Tenant>> leaving_; ///< no place has them any more
    std::condition_variable_any stopping_;
    std::jthread sweeper_;
};

} // namespace berth::server::http
