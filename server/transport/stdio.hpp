#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "server/rpc/dispatcher.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>

namespace berth::transport {

/// Messages as lines on a pair of descriptors: UTF-8, one message each, nothing else.
class Stdio {
  public:
    enum class End : unsigned char {
        end_of_file, ///< the client closed its side
        broken,      ///< nobody reads our answers any more
        stopped,     ///< stop() was called
    };

    /// Takes the descriptors over. `message_limit` in bytes.
    Stdio(UniqueFd input, UniqueFd output, std::size_t message_limit);
    ~Stdio();
    Stdio(const Stdio&) = delete;
    Stdio& operator=(const Stdio&) = delete;

    /// Writes a message and its newline; waits while the client does not read.
    [[nodiscard]] std::shared_ptr<rpc::Sink> sink() const;

    /// The errno for which a message could not be written, as on a full disk; 0 for none, and for a
    /// reader that went away.
    [[nodiscard]] int lost_output() const noexcept;

    /// Waits until the client has read what somebody waits for (Sink::when_read), at most so long.
    void settle(std::chrono::milliseconds time);

    /// Reads messages until the end. The caller's thread is the reader.
    End run(rpc::Dispatcher& dispatcher);

    /// From any thread and from a signal handler.
    void stop() noexcept;

  private:
    class Writer;

    UniqueFd input_;
    UniqueFd wake_; ///< an eventfd that becomes readable when run() shall look up
    std::atomic<bool> stopped_ = false;
    std::shared_ptr<Writer> writer_;
    std::size_t message_limit_;
};

} // namespace berth::transport
