#pragma once

#include "sandbox/base/unique_fd.hpp"

#include <chrono>
#include <functional>
#include <string_view>

namespace berth::sandbox {
class Backend;
}

namespace berth::server {

/// Runs `work` in a thread that nobody waits for; at its end `done`, an eventfd that outlives it,
/// becomes readable. What it throws is logged as `failure`.
void run_detached(std::function<void()> work, const UniqueFd& done, std::string_view failure);

/// From the end of the input or a signal until the process ends whatever is left to do, with
/// machines of that backend. Clients kill a server 4 s after they have closed its input.
std::chrono::milliseconds time_to_end(const sandbox::Backend& backend);

/// Does `work` at the end of a process, which does not wait for it longer than `time`; false where
/// it was not done by then.
[[nodiscard]] bool done_within(std::function<void()> work, std::chrono::milliseconds time,
                               std::string_view failure);

/// Does `work` at the end of a process, which does not wait for it longer than `time`, and then
/// says in the log that something is left.
void clear_away(std::function<void()> work, std::chrono::milliseconds time);

} // namespace berth::server
