#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/microvm/answer_watch.hpp"
#include "sandbox/protocol/residence.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace berth::guest {

/// Carries one call between a host's two streams and the guest's socket.
class Relay {
  public:
    struct Options {
        int input = 0;
        int output = 1;
        /// So long nothing of what waits for the host may be taken off: after a pause in the middle
        /// of a call its stream can be one that nobody will ever read, and that never ends.
        std::chrono::milliseconds patience{60'000};
    };

    /// `opening`: what the guest is sent first.
    Relay(UniqueFd guest, std::string opening, const Options& options);

    /// Until the answer is out, or none will come. Throws std::system_error, WireError.
    [[nodiscard]] protocol::ConnectorEnd run();

  private:
    using End = std::optional<protocol::ConnectorEnd>;

    /// Bytes on their way in one direction.
    struct Flow {
        std::string bytes;
        std::size_t done = 0; ///< of these
        bool ended = false;   ///< nothing more comes

        [[nodiscard]] bool empty() const noexcept { return done == bytes.size(); }
    };

    [[nodiscard]] bool wait(short& input, short& guest, short& output);
    [[nodiscard]] End step(short input, short guest, short output);
    void take_input();
    void give_guest();
    [[nodiscard]] End take_guest();
    [[nodiscard]] End give_output();

    const UniqueFd guest_;
    const Options options_;
    Flow in_;  ///< to the guest
    Flow out_; ///< to the host
    AnswerWatch answer_;
    protocol::ConnectorEnd without_answer_ = protocol::ConnectorEnd::closed;
};

} // namespace berth::guest
