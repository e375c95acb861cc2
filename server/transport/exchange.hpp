#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "server/rpc/sink.hpp"
#include "server/transport/http_room.hpp"
#include "server/transport/http_socket.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace berth::transport {

/// What a request occupies: until its answer was written, or, where nobody reads it, until the work
/// on it has ended.
struct Occupied {
    std::shared_ptr<HttpRoom> room{}; ///< for what is held for its answer; null: nobody counts
    std::shared_ptr<void> place{};    ///< among the calls of whoever sent it
    std::shared_ptr<void> others{};   ///< the same, of a batch's other calls
};

/// What is said to the messages of one HTTP request, between the threads that work on them and the
/// one that has the connection. Thread-safe.
class Exchange : public std::enable_shared_from_this<Exchange> {
  public:
    /// So many notifications wait for a peer that does not read; then they are left out.
    static constexpr std::size_t most_waiting = 16;

    explicit Exchange(std::shared_ptr<HttpSocket> socket, Occupied occupied = {});

    /// For the dispatcher. The exchange ends with the last reference to it, at the latest.
    [[nodiscard]] std::shared_ptr<rpc::Sink> sink();

    /// What was not known when the body had not been read; before anything is said.
    void occupy(std::shared_ptr<void> others);

    enum class Event : unsigned char {
        said,     ///< take_said() has something
        answered, ///< answer() is it, and what was said before it has been taken
        ended,    ///< without an answer: notifications have none, nor have cancelled requests
        gone,     ///< the peer has closed the connection
        late,     ///< so much time has passed
    };

    /// By the connection's thread.
    [[nodiscard]] Event wait(std::chrono::milliseconds time);

    /// The next notification.
    [[nodiscard]] std::string take_said();

    [[nodiscard]] std::string take_answer();

    /// It was written, or was not: then nobody will read what is still said, and the connection is
    /// let go, however long the work goes on.
    void finish(bool written);

  private:
    class Way;

    void answer(std::string text) noexcept;
    [[nodiscard]] bool offer(std::string text) noexcept;
    void when_read(std::function<void()> then, std::function<void()> lost);
    [[nodiscard]] bool hold(std::size_t bytes);
    void end() noexcept;
    [[nodiscard]] std::optional<Event> event();

    const UniqueFd wake_;
    std::mutex mutex_; ///< guards what follows
    /// Null once it was let go; the connection's own thread, which does that, may look without it.
    std::shared_ptr<HttpSocket> socket_;
    Occupied occupied_;
    std::deque<std::string> said_;
    std::optional<std::string> answer_;

    struct Reading {
        std::function<void()> read;
        std::function<void()> lost;
    };

    std::vector<Reading> when_read_;
    bool ended_ = false;
    std::optional<bool> written_;
};

} // namespace berth::transport
