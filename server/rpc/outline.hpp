#pragma once

#include "server/rpc/message.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace berth::rpc {

/// The outermost level of a message that is too long to be kept: enough to tell whose it is. Takes
/// the message piece by piece and keeps at most `limit` bytes, which are the message with every
/// object and array below the first level emptied. Wherever the members stand: some clients write
/// "id" last, behind the large one.
class Outline {
  public:
    static constexpr std::size_t limit = 4096;

    void feed(std::string_view piece);

    /// JSON if the message was; empty when the first level alone is longer than `limit`.
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

    void clear() { *this = Outline(); }

  private:
    void take(char byte);
    void keep(char byte);

    std::string text_;
    std::size_t depth_ = 0;
    bool in_string_ = false;
    bool escaped_ = false;
    bool too_long_ = false;
};

/// What a message that cannot be read tells of itself: kind, id and method, as far as they stand
/// before what breaks its outermost level, and the short strings directly in `params` that stand
/// before what breaks the text. A notification where nothing is known. Its id is empty when there
/// is none, or two: they would be for different readers.
[[nodiscard]] Message recognise(std::string_view text);

} // namespace berth::rpc
