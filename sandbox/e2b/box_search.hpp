#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/e2b/api_client.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace berth::e2b {

/// The sandboxes of a creation of which no answer came, by its number. One of which nobody has said
/// that it failed may come for as long as E2B works at it: whoever looked once only would make a
/// second one, and leave the first to run. So it is looked for again until it is there, for as long
/// as `late`. Throws sandbox::LeftBehind.
[[nodiscard]] std::vector<BoxInfo> look_for(ApiClient& api, const std::string& generation,
                                            std::chrono::milliseconds late,
                                            const Deadline& deadline);

/// Ends those of a number: nobody has used them yet, or may any more.
void kill_all_of(ApiClient& api, const std::string& number, std::chrono::seconds time);

/// Of one that was woken for nothing. Where it cannot be it sleeps when its time runs out.
void pause_if_possible(ApiClient& api, const std::string& id, std::chrono::seconds time) noexcept;

} // namespace berth::e2b
