#pragma once

#include "sandbox/guest/call.hpp"
#include "sandbox/guest/call_context.hpp"
#include "sandbox/guest/commands.hpp"
#include "sandbox/guest/pause/pauses.hpp"
#include "sandbox/guest/protection/protected_book.hpp"
#include "sandbox/guest/workers.hpp"
#include "sandbox/protocol/frame.hpp"
#include "sandbox/protocol/guest_config.hpp"
#include "sandbox/protocol/messages.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

namespace berth::guest {

/// What the operations work with; all of it outlives the dispatcher.
struct Services {
    const protocol::GuestConfig& config;
    SessionState& session;
    Workers& workers;
    Commands& commands;
    Pauses& pauses;
    std::function<std::size_t()> connections;
    /// Until the machine ends for want of use; nothing while it is in use, or if it never does.
    std::function<std::optional<BootClock::duration>()> ends_in;
    std::function<void()> end; ///< ends the guest
    /// Nothing that comes in is begun any more, and what was not read stays so.
    std::function<void()> stop_reading = {};
    std::function<void()> end_soon = {}; ///< at most a second from now
    std::function<protocol::Terms(const protocol::Terms&)> change_terms;
    /// By a client other than the server of that name, a call or a job; `but_jobs`: by that client.
    std::function<bool(const std::string& server, bool but_jobs)> in_use_beside;
    std::shared_ptr<HomeQuota> quota = nullptr;               ///< null: the home is not limited
    std::shared_ptr<ProtectedBook> protected_files = nullptr; ///< the dispatcher makes it
    /// Readings of processes' names that nobody waits for any more and that have not ended.
    std::shared_ptr<std::atomic<unsigned>> stuck_names = std::make_shared<std::atomic<unsigned>>(0);
};

/// Maps protocol::Operation to what does it: the one table of the guest. Decodes requests, encodes
/// replies. Wakes the session for every operation that does not only manage the machine. Belongs to
/// the loop's thread.
class Dispatcher {
  public:
    explicit Dispatcher(Services services);

    /// Throws Error(unsupported) for an operation that is not in the table, WireError for a
    /// malformed request.
    void begin(const std::shared_ptr<Call>& call, protocol::Frame request) const;

  private:
    Services services_;
    BootClock::time_point started_ = BootClock::now();
};

} // namespace berth::guest
