#pragma once

#include "sandbox/protocol/kept_text.hpp"
#include "sandbox/protocol/messages/execute.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::protocol {

/// Bytes at the end of a text that say what the beginning of the next piece is.
inline constexpr std::size_t longest_return = 3;

/// `data` takes a line back to its beginning: a carriage return, or an escape sequence that
/// moves to the first column or erases the line. `before`: the end of what came before, at least
/// longest_return bytes of it, if there were as many.
[[nodiscard]] bool has_return(std::string_view before, std::string_view data);

/// Something is folded (FoldedText) when `data` comes behind `before`, as above. True now and then
/// where nothing is, never the other way round.
[[nodiscard]] bool has_rewriting(std::string_view before, std::string_view data);

/// KeptText of what a command wants to be seen: of a line that it rewrites, as progress bars do,
/// the last rewriting alone, whole, whatever was longer before it. The others are counted. What
/// takes the line back is a carriage return or an escape sequence that does the same (ESC [ G,
/// ESC [ 0 G, ESC [ 1 G, ESC [ 2 K); such sequences are never kept. Not folded are: carriage
/// returns before a newline, which end the line with it (longest_line_end); those at the end of the
/// text; rewritings that are too long for a bar, or have a NUL, as UTF-16 has. Every byte that was
/// added is kept, omitted or folded. Memory: KeptText's and 4 KiB.
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
        return kept_.has_room(held_.size() + returns_.size() + begun_.size() + size);
    }

    /// All that was added, while nothing of it is omitted or folded.
    [[nodiscard]] std::string whole() const;

    /// Sets head, tail and the counts of `out`.
    void put_into(StreamOutput& out) const;

  private:
    [[nodiscard]] std::uint64_t total_bytes() const noexcept
    {
        return kept_.total_bytes() + held_.size() + returns_.size() + begun_.size() + folded_bytes_;
    }

    [[nodiscard]] KeptText with_held(std::string_view returns) const;
    void finish_begun(std::string_view& data);
    void add_shown(std::string_view text);
    void add_text(std::string_view text);
    void add_return(std::string_view bytes);
    void take_returns(char next);
    void release();

    KeptText kept_;
    std::string held_;             ///< the line since its last return; may be folded yet
    std::string returns_;          ///< behind that: carriage returns and sequences
    std::size_t return_count_ = 0; ///< of them
    bool erased_ = false;          ///< one of them erases the line
    std::string begun_;            ///< behind these: may become a sequence that is one
    bool too_long_ = false;        ///< what would be held has been kept already
    std::uint64_t folded_bytes_ = 0;
    std::uint64_t folded_updates_ = 0;
};

} // namespace berth::protocol
