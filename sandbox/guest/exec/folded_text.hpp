#pragma once

#include "sandbox/guest/exec/kept_text.hpp"
#include "sandbox/protocol/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::guest {

/// Something is folded (FoldedText) when `data` comes behind carriage returns (at least one), or
/// behind anything else. True now and then where nothing is, never the other way round.
[[nodiscard]] bool has_rewriting(bool behind_return, std::string_view data);

/// KeptText of what a command wants to be seen: of a line that it rewrites with carriage returns,
/// as progress bars do, the last rewriting alone, whole, whatever was longer before it. The others
/// are counted. Not folded are: carriage returns before a newline, which end the line with it
/// (longest_line_end); those at the end of the text; rewritings that are too long for a bar, or
/// have a NUL, as UTF-16 has. Every byte that was added is kept, omitted or folded. Memory:
/// KeptText's and 4 KiB.
class FoldedText {
  public:
    FoldedText(std::uint64_t head_limit, std::uint64_t tail_limit) : kept_(head_limit, tail_limit)
    {
    }

    void add(std::string_view data);

    [[nodiscard]] bool empty() const noexcept { return total_bytes() == 0; }

    /// `size` more bytes are kept without leaving any out.
    [[nodiscard]] bool has_room(std::size_t size) const noexcept
    {
        return kept_.has_room(held_.size() + returns_ + size);
    }

    /// All that was added, while nothing of it is omitted or folded.
    [[nodiscard]] std::string whole() const;

    /// Sets head, tail and the counts of `out`.
    void put_into(protocol::StreamOutput& out) const;

  private:
    [[nodiscard]] std::uint64_t total_bytes() const noexcept
    {
        return kept_.total_bytes() + held_.size() + returns_ + folded_bytes_;
    }

    [[nodiscard]] KeptText with_held() const;
    void add_text(std::string_view text);
    void add_return();
    void take_returns(char next);
    void release();

    KeptText kept_;
    std::string held_;        ///< the line since its last carriage return; may be folded yet
    std::size_t returns_ = 0; ///< carriage returns behind that
    bool too_long_ = false;   ///< what would be held has been kept already
    std::uint64_t folded_bytes_ = 0;
    std::uint64_t folded_updates_ = 0;
};

} // namespace berth::guest
