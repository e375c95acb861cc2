#pragma once

#include "sandbox/session/late_pace.hpp"
#include "sandbox/session/session_manager.hpp"
#include "server/http/legacy_sessions.hpp"
#include "server/http/serve_http.hpp"
#include "server/options/live_settings.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace berth::server::http {

/// What a server that runs for months does beside its calls: it clears up what is dead in the state
/// directory at its start and each hour, which servers on stdio do by starting so often, and ends
/// sessions of older clients that went without a word.
class Upkeep {
  public:
    /// Of the sessions on other backends than the server's own, which callers' profiles have.
    using Others = std::function<std::vector<session::SessionManager*>()>;

    /// `settings`: of the server, as they are by the time that it clears up. `others`: asked in its
    /// thread, and must not throw; empty: there are none.
    Upkeep(const Making& making, LiveSettings& settings, LegacySessions& sessions,
           Others others = {});
    ~Upkeep();
    Upkeep(const Upkeep&) = delete;
    Upkeep& operator=(const Upkeep&) = delete;

    /// Why no sandbox can be made; empty: one can. Whoever asks may do so often: it is tried once
    /// in ten seconds.
    [[nodiscard]] std::string unavailable();

  private:
    using Clock = std::chrono::steady_clock;

    void run(const std::stop_token& stop);
    void follow_settings() noexcept;
    /// How many machines may still come of creations that were given up.
    [[nodiscard]] std::size_t collect_all(const std::stop_token& stop);

    sandbox::Backend& backend_;
    LiveSettings& settings_;
    session::SessionManager manager_;
    LegacySessions& sessions_;
    const Others others_;
    session::LatePace late_;
    std::mutex trying_; ///< guards the two
    std::string unavailable_;
    Clock::time_point tried_{};
    std::mutex mutex_;
    std::condition_variable_any stopping_;
    std::jthread thread_;
};

} // namespace berth::server::http
