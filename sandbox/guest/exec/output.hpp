#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/guest/exec/spill.hpp"
#include "sandbox/protocol/messages.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace berth::guest {

/// One stream of a command: counts everything, remembers beginning and end, and hands the whole to
/// a spill file once it no longer fits. Memory: at most head_limit + tail_limit.
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

    [[nodiscard]] protocol::StreamOutput result() const;

    [[nodiscard]] int fd() const noexcept { return pipe_.get(); }

    [[nodiscard]] std::uint64_t total_bytes() const noexcept { return total_bytes_; }

    void close() noexcept;

  private:
    void keep(std::string_view data);
    [[nodiscard]] std::string tail() const;

    UniqueFd pipe_;
    std::uint64_t head_limit_;
    std::uint64_t tail_limit_;
    SpillStore& store_;
    std::string name_;
    std::string head_;
    std::string ring_;           ///< grows to tail_limit_, then is written round
    std::size_t ring_start_ = 0; ///< of the oldest byte, once it is full
    std::uint64_t total_bytes_ = 0;
    std::uint64_t newlines_ = 0;
    bool ends_with_newline_ = true;
    std::unique_ptr<SpillFile> spill_;
};

} // namespace berth::guest
