#pragma once

#include "sandbox/guest/call.hpp"
#include "sandbox/guest/call_context.hpp"
#include "sandbox/guest/commands.hpp"
#include "sandbox/guest/workers.hpp"
#include "sandbox/protocol/frame.hpp"
#include "sandbox/protocol/guest_config.hpp"

#include <cstddef>
#include <functional>
#include <memory>

namespace berth::guest {

/// What the operations work with; all of it outlives the dispatcher.
struct Services {
    const protocol::GuestConfig& config;
    SessionState& session;
    Workers& workers;
    Commands& commands;
    std::function<std::size_t()> connections;
    std::function<void()> end; ///< ends the guest
};

/// Maps protocol::Operation to what does it: the one table of the guest. Decodes requests, encodes
/// replies. Belongs to the loop's thread.
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
