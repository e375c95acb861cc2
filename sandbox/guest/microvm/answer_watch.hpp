#pragma once

#include "sandbox/protocol/frame.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace berth::guest {

/// Follows what a guest sends on a connection that carries one call, to see where its answer ends.
/// Keeps no more of it than a header.
class AnswerWatch {
  public:
    /// How many of these bytes belong to it: all of them, but for what comes behind the answer.
    std::size_t pass(std::string_view bytes);

    /// The answer has been passed, all of it.
    [[nodiscard]] bool complete() const noexcept { return last_ && left_ == 0; }

  private:
    void take_header();

    std::string header_;
    std::size_t left_ = 0; ///< of the payload of the present frame
    bool last_ = false;    ///< which is the answer
};

} // namespace berth::guest
