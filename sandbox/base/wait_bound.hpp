#pragma once

#include "sandbox/base/deadline.hpp"

#include <stop_token>

namespace berth {

/// Bounds what a thread waits for from other hosts, for as long as it lives, beside the bounds that
/// each wait has: of who works behind a server that may be told to leave, or as it leaves. A wait
/// that is broken off so had no answer; whoever may be killed at any moment can bear that.
class WaitBound {
  public:
    /// `again`: by when what failed is to be asked for again, if at all. What is being waited for
    /// then goes on.
    explicit WaitBound(std::stop_token stop, const Deadline& until = {},
                       const Deadline& again = {}) noexcept;
    ~WaitBound();
    WaitBound(const WaitBound&) = delete;
    WaitBound& operator=(const WaitBound&) = delete;

    struct Wait {
        Deadline deadline;
        std::stop_token stop;
        Deadline again{}; ///< not after the deadline
    };

    /// How long this thread may wait that was to wait for so long; a stop token of the wait's own
    /// stays.
    [[nodiscard]] static Wait within(const Deadline& deadline,
                                     const std::stop_token& stop) noexcept;

  private:
    const std::stop_token stop_;
    const Deadline until_;
    const Deadline again_;
    WaitBound* outer_;
};

} // namespace berth
