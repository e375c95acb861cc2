#pragma once

#include "sandbox/e2b/query.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace berth::e2b {

/// What a sandbox may reach, whole.
struct BoxNetwork {
    bool internet = true;
    std::vector<std::string> allow_out{}; ///< addresses, ranges, domains
    std::vector<std::string> deny_out{};
};

/// A sandbox that is to be made.
struct BoxRequest {
    std::string template_id = "base";
    std::chrono::seconds timeout{300}; ///< until it is paused or ended, whatever happens in it
    Metadata metadata{};
    std::map<std::string, std::string> environment{};
    bool auto_pause = false; ///< paused at the timeout, not ended
    BoxNetwork network{};
};

/// What it takes to reach a sandbox.
struct Box {
    std::string id;
    std::string template_id{};
    std::string envd_version{};
    std::string envd_token{}; ///< never in a log, a message or a book
    std::string domain{};     ///< empty: the usual one
};

struct Connected {
    Box box;
    bool resumed = false; ///< it was paused until now
};

enum class BoxState : unsigned char { running, paused, other };

/// What the control plane knows of a sandbox.
struct BoxInfo {
    Box box; ///< in a list without token and domain
    BoxState state = BoxState::other;
    bool ends_at_limit = false; ///< and is not paused then, as far as is told
    std::string started_at{};   ///< RFC 3339, as it came
    std::string end_at{};       ///< the same; of a paused one, when it was paused
    Metadata metadata{};
    std::string told_at{}; ///< by E2B's clock: the Date of the answer, as it came; empty: none
};

} // namespace berth::e2b
