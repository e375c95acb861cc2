#pragma once

#include "sandbox/protocol/messages.hpp"

namespace berth::filter {

/// Tells the guest what was denied. Safe for several threads at once.
class Reporter {
  public:
    /// `control`: see policy.hpp. Stays the caller's.
    explicit Reporter(int control) noexcept : control_(control) {}

    /// Before the client hears of it: its command may end the moment it does. Waits for nothing: of
    /// a guest that does not read them some are lost.
    void tell(protocol::Denial denial) const noexcept;

  private:
    int control_;
};

} // namespace berth::filter
