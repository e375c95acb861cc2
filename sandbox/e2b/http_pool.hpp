#pragma once

#include "sandbox/e2b/http.hpp"
#include "sandbox/e2b/http_connection.hpp"
#include "sandbox/e2b/http_transfer.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace berth::e2b {

/// The connections that are kept, and the threads of the exchanges that go on: one each, since the
/// library's calls return when they are done. A thread of its own closes what was idle for too
/// long and joins what has ended. Thread-safe.
class HttpPool {
  public:
    explicit HttpPool(HttpSettings settings);
    HttpPool(const HttpPool&) = delete;
    HttpPool& operator=(const HttpPool&) = delete;

    /// Cuts what goes on and waits for it.
    ~HttpPool();

    void begin(const Endpoint& endpoint, const std::shared_ptr<HttpTransfer>& transfer);

    [[nodiscard]] std::size_t idle() const;

  private:
    using Clock = std::chrono::steady_clock;

    struct Job {
        std::thread thread;
        std::shared_ptr<HttpTransfer> transfer;
        bool done = false;
    };

    struct Idle {
        Endpoint endpoint;
        std::unique_ptr<HttpConnection> connection;
        Clock::time_point since;
    };

    void run(const Endpoint& endpoint, HttpTransfer& transfer);
    [[nodiscard]] std::unique_ptr<HttpConnection> take(const Endpoint& endpoint);
    void keep(const Endpoint& endpoint, std::unique_ptr<HttpConnection> connection);
    void look_after();
    void join_ended(std::unique_lock<std::mutex>& lock);
    [[nodiscard]] Clock::duration until_next() const;

    const HttpSettings settings_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::list<Job> jobs_;    ///< guarded by the mutex, as what follows
    std::vector<Idle> idle_; ///< the latest last
    bool stopping_ = false;
    std::thread upkeep_;
};

} // namespace berth::e2b
