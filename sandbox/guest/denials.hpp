#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/protocol/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace berth::guest {

/// What a filtered network has denied of late. Whose it was the proxy does not know: of commands
/// that run side by side each is told all of it. Belongs to the loop's thread.
class Denials {
  public:
    static constexpr std::size_t most_kept = 64; ///< the oldest go first
    static constexpr std::size_t most_told = 16; ///< in one result
    static constexpr int most_read = 1024; ///< at one time; a usual socket holds some hundreds

    /// `proxy`: GuestConfig::denials_fd; none: nothing is ever denied.
    Denials(EventLoop& loop, UniqueFd proxy);
    ~Denials();
    Denials(const Denials&) = delete;
    Denials& operator=(const Denials&) = delete;

    /// For since(): what is denied from now on.
    [[nodiscard]] std::uint64_t newest();

    /// What was denied after that, each once, with how often; the first of them. What has come but
    /// was not read yet is among it: the proxy tells a denial before the command can hear of it.
    [[nodiscard]] std::vector<protocol::Denial> since(std::uint64_t number);

  private:
    void read();
    void take(protocol::Denial denial);

    EventLoop& loop_;
    UniqueFd proxy_;
    bool lost_ = false; ///< the proxy has ended
    std::uint64_t newest_ = 0;
    std::uint64_t asked_ = 0;                                     ///< the last that newest() told
    std::deque<std::pair<std::uint64_t, protocol::Denial>> kept_; ///< by their numbers
};

} // namespace berth::guest
