#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/guest_connection.hpp"
#include "sandbox/protocol/messages.hpp"
#include "sandbox/sandbox.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

namespace berth::sandbox {

/// One call, from the request to the reply, on one connection.
struct Exchange {
    protocol::Operation operation;
    std::string_view request;
    std::string_view name = {}; ///< that it has in the request; empty: none
    const DataSink* sink = nullptr;
    const DataSource* source = nullptr;
    const Printed* printed = nullptr; ///< null or empty: what the guest tells is passed over
    std::stop_token stop;
    /// As `stop` until the request is on its way, of a call that may not be cancelled from there
    /// on. None: `stop` is.
    std::stop_token way_stop = {};
    Deadline deadline; ///< of the whole call
    /// While true a stop request closes the connection instead of cancelling the operation.
    const std::atomic<bool>* leaving = nullptr;
    /// Asked each time that the guest has been silent for `patience`: false where it answers nobody
    /// any more. Empty: not asked.
    std::function<bool()> is_alive = {};
    std::chrono::milliseconds patience{0};
    /// So long a connection may be waited for, with the wake of a machine that sleeps.
    std::chrono::milliseconds way{0};
};

/// What ends the wait for a connection of it.
[[nodiscard]] inline const std::stop_token& stop_of_way(const Exchange& exchange) noexcept
{
    return exchange.way_stop.stop_possible() ? exchange.way_stop : exchange.stop;
}

/// The guest's answer came, so that the connection can carry another call, or not.
struct Answer {
    bool is_error = false;
    bool reusable = false; ///< all that had to be sent was
    bool unseen = false;   ///< see protocol::flag_unseen
    std::string payload;   ///< of the reply or the error frame
};

/// The hint of an Error(cancelled) about a request that the guest has not had.
inline constexpr const char* not_begun =
    "Nothing of it was done: call again if it is still wanted.";

/// Throws Error(cancelled) for such a call.
[[noreturn]] void throw_not_begun();

/// A stop request cancels the operation; a request that the guest has not read whole a second later
/// is broken off, and never begins; data that it does not read on is broken off as soon. Throws
/// Error when there is no answer, and whatever the sink or source threw; the connection is of no
/// further use then.
[[nodiscard]] Answer exchange(GuestConnection& connection, const Exchange& call);

} // namespace berth::sandbox
