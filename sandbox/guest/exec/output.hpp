#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/exec/stream_log.hpp"
#include "sandbox/protocol/folded_text.hpp"
#include "sandbox/protocol/kept_text.hpp"
#include "sandbox/protocol/messages.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace berth::guest {

/// One stream of a command: counts everything, remembers beginning and end of what is to be shown
/// (FoldedText), and hands the whole, as it came, to a spill file once it no longer fits or
/// something is folded. Memory: at most head_limit + tail_limit and 12 KiB. Of a job's, the newest
/// bytes are remembered instead, and any that are kept can be read by their number.
class OutputStream {
  public:
    /// `pipe` must not block. `store` must outlive this. `name`: "stdout" or "stderr".
    OutputStream(UniqueFd pipe, std::uint64_t head_limit, std::uint64_t tail_limit,
                 SpillStore& store, std::string name);

    enum class State {
        more,  ///< stopped after its share of work
        quiet, ///< nothing there now
        ended, ///< every writer is gone
    };

    /// Reads at most `reads` buffers full, so that a command that prints without end does not keep
    /// the loop from others.
    State read_some(std::span<char> buffer, int reads);

    void add(std::string_view data);

    /// From now on everything goes to the file, what was kept first: what is left running prints
    /// on after the reply.
    void spill_all();

    /// Nobody will ask for the kept text again.
    void drop_kept() noexcept;

    /// From now on it is a job's: its newest bytes are kept, in memory and on disk. What fits into
    /// neither any more is lost.
    void keep_newest();

    /// Of a job's without the text: see read().
    [[nodiscard]] protocol::StreamOutput result() const;

    /// The characters of what result() shows, or more: with each written as an escape that can be.
    /// No less than total_bytes().
    [[nodiscard]] std::uint64_t widest() const;

    /// At most `size` bytes of a job's stream from the byte `offset` on, which moves to the first
    /// one after it that is still kept; empty at `end`, which is no more than total_bytes().
    [[nodiscard]] std::string read(std::uint64_t& offset, std::uint64_t end,
                                   std::size_t size) const;

    /// Its newest bytes, at most `size` and 8 KiB, as they came, without an unfinished UTF-8
    /// sequence.
    [[nodiscard]] protocol::PrintedTail newest(std::size_t size) const;

    /// Behind the last newline.
    [[nodiscard]] std::uint64_t lines_end() const noexcept { return lines_end_; }

    /// Before an unfinished UTF-8 sequence at the end, while somebody may finish it.
    [[nodiscard]] std::uint64_t characters_end() const noexcept;

    /// When the last line began, if lines_end() is not total_bytes().
    [[nodiscard]] BootClock::time_point unfinished_since() const noexcept
    {
        return unfinished_since_;
    }

    /// The last line, if it is unfinished, has a carriage return in it, or an escape sequence that
    /// does the same (protocol::has_return).
    [[nodiscard]] bool is_rewritten() const noexcept { return is_rewritten_; }

    [[nodiscard]] int fd() const noexcept { return pipe_.get(); }

    [[nodiscard]] std::uint64_t total_bytes() const noexcept { return newest_.total_bytes(); }

    /// Of the first byte in the file that result() names.
    [[nodiscard]] std::uint64_t spill_begin() const
    {
        return log_.started() ? log_.file_begin() : 0;
    }

    /// When something came the last time.
    [[nodiscard]] BootClock::time_point last_data() const noexcept { return last_data_; }

    void close() noexcept;

  private:
    UniqueFd pipe_;
    protocol::FoldedText shown_; ///< empty once it is a job's
    protocol::KeptText newest_;  ///< bytes, as they came
    StreamLog log_;
    bool is_job_ = false;
    std::uint64_t lines_end_ = 0;
    BootClock::time_point last_data_;
    BootClock::time_point unfinished_since_;
    bool is_rewritten_ = false;
    std::string ending_; ///< the last bytes, as many as an unfinished sequence may have
};

} // namespace berth::guest
