#pragma once

#include "sandbox/e2b/http.hpp"
#include "sandbox/e2b/settings.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <string>

namespace berth::tests {

/// What the emulator knows of its boxes: the truth that a client is measured by.
struct E2bBooks {
    std::set<std::string> created;
    std::set<std::string> running;
    std::set<std::string> paused;
    std::map<std::string, std::string> ended; ///< and why: "killed", "expired", "vanished"
};

/// The emulator that run.py has started for this program (tests/e2b_emulator), by its control
/// endpoint: over connections of its own, so that nothing of it is seen in what is tested. Throws
/// where it refuses.
class E2bEmulator {
  public:
    E2bEmulator();

    /// As the environment has them, which is what a client would read.
    [[nodiscard]] const e2b::Settings& settings() const noexcept { return settings_; }

    /// A rule of what goes wrong; see its README.
    void fault(const nlohmann::json& rule);

    /// Rules that no request has met as often as they say.
    [[nodiscard]] std::size_t faults_left();
    void clear_faults();

    /// Changes what is in `changed`; returns all.
    nlohmann::json set(const nlohmann::json& changed);

    /// vanish, pause, expire, stall, end_stall.
    void act(const std::string& box, const std::string& what,
             const nlohmann::json& more = nlohmann::json::object());

    [[nodiscard]] E2bBooks books();

    /// What envd's log has of its calls, as one text.
    [[nodiscard]] std::string log(const std::string& box);

    /// Requests since the last time that this was asked: "api POST /v2/sandboxes", "connections".
    [[nodiscard]] std::map<std::string, int> take_counts();

  private:
    nlohmann::json ask(const std::string& method, const std::string& what,
                       const nlohmann::json& body = {});

    e2b::HttpClient http_{e2b::HttpSettings{}};
    e2b::Settings settings_;
};

} // namespace berth::tests
