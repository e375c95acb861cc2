#pragma once

#include "sandbox/guest/files/content_lock.hpp"
#include "sandbox/guest/search/buffer_permit.hpp"
#include "sandbox/guest/search/scan_meter.hpp"
#include "sandbox/guest/search/search_limits.hpp"
#include "sandbox/guest/search/utf16_decoder.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace berth::guest::search {

/// Reads files in blocks of whole lines, in one buffer that is used for file after file: memory
/// does not depend on the size of a file. UTF-16 with a byte order mark comes as UTF-8. For one
/// thread.
class BlockReader {
  public:
    enum class Status : std::uint8_t {
        block,   ///< block() has lines
        end,     ///< the file is through
        binary,  ///< a NUL byte came: the rest is not searched
        failed,  ///< read(2) failed
        stopped, ///< the limits say so
        large,   ///< whole: above the limit
        slow,    ///< the meter was exhausted by the block before
    };

    /// A line above it comes in pieces, each like a line of its own.
    static constexpr std::size_t max_line = 1U << 20;
    /// Of a file that is searched as a whole (multiline).
    static constexpr std::size_t max_whole = 8U << 20;

    explicit BlockReader(SearchLimits& limits);

    /// `fd` stays the caller's. No call of this guest writes the file in place until close().
    /// `whole`: the file is one block. `limit`: of a block; at most max_line, or max_whole.
    void open(int fd, bool whole, std::size_t limit);

    /// Gives back the memory that a large file needed.
    void close() noexcept;

    [[nodiscard]] Status next();

    /// For whoever searches the block.
    [[nodiscard]] ScanMeter& meter() noexcept { return meter_; }

    [[nodiscard]] std::string_view block() const noexcept { return block_; }

    /// The block does not begin at the begin of a line: its line goes on from the block before.
    [[nodiscard]] bool continues_line() const noexcept { return continues_line_; }

  private:
    [[nodiscard]] Status advance();
    [[nodiscard]] Status fill(bool first);
    [[nodiscard]] bool read_bytes();
    [[nodiscard]] bool read_utf16();
    void begin_utf16();
    [[nodiscard]] Status grow();
    [[nodiscard]] std::size_t next_size() const noexcept;
    void take(std::size_t end) noexcept;

    SearchLimits& limits_;
    ScanMeter meter_;
    BufferPermit permit_;
    ContentLock lock_;
    Utf16Decoder utf16_;
    std::vector<char> buffer_;
    std::string_view block_;
    std::size_t begin_ = 0; ///< of what was not handed out yet
    std::size_t end_ = 0;   ///< of what was read
    std::size_t limit_ = max_line;
    int fd_ = -1;
    bool whole_ = false;
    bool is_utf16_ = false;
    bool raw_at_end_ = false;
    bool at_end_ = false;
    bool started_ = false;
    bool continues_line_ = false;
    bool ended_in_line_ = false;
};

} // namespace berth::guest::search
