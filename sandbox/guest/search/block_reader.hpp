#pragma once

#include "sandbox/guest/search/search_limits.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace berth::guest::search {

/// Reads files in blocks of whole lines, in one buffer that is used for file after file: memory
/// does not depend on the size of a file. For one thread.
class BlockReader {
  public:
    enum class Status : std::uint8_t {
        block,   ///< block() has lines
        end,     ///< the file is through
        binary,  ///< a NUL byte, or UTF-16, came: the rest is not searched
        failed,  ///< read(2) failed
        stopped, ///< the limits say so
        large,   ///< read_whole(): above the limit
    };

    /// A line above it comes in pieces, each like a line of its own.
    static constexpr std::size_t max_line = 1U << 20;
    /// Of a file that is searched as a whole (multiline).
    static constexpr std::size_t max_whole = 8U << 20;

    explicit BlockReader(SearchLimits& limits);

    /// `fd` stays the caller's. `whole`: the file is one block.
    void open(int fd, bool whole) noexcept;

    [[nodiscard]] Status next();

    [[nodiscard]] std::string_view block() const noexcept { return block_; }

    /// The block does not begin at the begin of a line: its line goes on from the block before.
    [[nodiscard]] bool continues_line() const noexcept { return continues_line_; }

  private:
    [[nodiscard]] Status fill(bool first);
    [[nodiscard]] bool grow();
    void take(std::size_t end) noexcept;

    SearchLimits& limits_;
    std::vector<char> buffer_;
    std::string_view block_;
    std::size_t begin_ = 0; ///< of what was not handed out yet
    std::size_t end_ = 0;   ///< of what was read
    int fd_ = -1;
    bool whole_ = false;
    bool at_end_ = false;
    bool started_ = false;
    bool continues_line_ = false;
    bool ended_in_line_ = false;
};

} // namespace berth::guest::search
