#pragma once

#include "sandbox/session/session_facts.hpp"
#include "server/http/call_counts.hpp"
#include "server/http/legacy_sessions.hpp"
#include "server/http/tenants.hpp"
#include "server/rpc/worker_pool.hpp"
#include "server/transport/http_server.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace berth::server::http {

/// What is going on in the server, for Prometheus (docs/http.md lists it). Counting takes no lock;
/// only who asks waits. Thread-safe.
class Metrics {
  public:
    struct Parts {
        std::string backend;
        const CallCounts& calls;
        const transport::HttpServer& server;
        const rpc::WorkerPool& workers;
        Tenants& tenants;
        LegacySessions& legacy;
        /// Asks the machines too, which may take seconds. Throws where the books cannot be asked.
        std::function<std::vector<session::SessionFacts>()> sessions;
        std::function<std::string()> unavailable;
    };

    explicit Metrics(Parts parts) : parts_(std::move(parts)) {}

    [[nodiscard]] std::string text();

  private:
    using Clock = std::chrono::steady_clock;
    using States = std::map<std::string, std::uint64_t>;

    void write_server(MetricText& text) const;
    void write_traffic(MetricText& text) const;
    void write_sessions(MetricText& text);
    [[nodiscard]] bool was_asked();
    [[nodiscard]] std::optional<States> states();

    Parts parts_;
    const std::chrono::system_clock::time_point started_ = std::chrono::system_clock::now();
    std::mutex asking_; ///< held by the one who asks the books
    std::mutex mutex_;  ///< guards what follows
    std::optional<States> states_;
    Clock::time_point asked_{};
};

} // namespace berth::server::http
