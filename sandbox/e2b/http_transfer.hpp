#pragma once

#include "sandbox/base/unique_fd.hpp"
#include "sandbox/e2b/http.hpp"
#include "sandbox/e2b/pipe.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace berth::e2b {

/// The socket of a connection, for whoever ends it from outside: a duplicate, so that its number
/// is never that of another file by the time it is used.
class SocketHold {
  public:
    /// Called as the socket is made, by the thread that makes it. After shut() the socket is
    /// replaced by one that leads nowhere: nobody could end it later.
    void hold(int socket) noexcept;

    /// Ends it, and every later one: whatever waits on it returns, connect(2) included. Called
    /// between socket(2) and connect(2) it does nothing: to be called again.
    void shut() noexcept;

    [[nodiscard]] bool is_shut() noexcept;

    /// Waits until it takes bytes, by the thread that makes it. False: the other side has ended,
    /// so what it had to say is there to be read, and a write could take that away: its kernel
    /// answers with a reset.
    [[nodiscard]] bool takes_more() noexcept;

  private:
    std::mutex mutex_;
    UniqueFd socket_;
    bool shut_ = false;
};

/// What the caller of an exchange and the thread that does it share.
class HttpTransfer {
  public:
    HttpTransfer(std::string where, HttpRequest request);

    // For the caller; see HttpExchange.
    bool write(std::string_view bytes, const Deadline& deadline, const std::stop_token& stop);

    void finish() noexcept { outgoing_.end(); }

    const HttpHead& head(const Deadline& deadline, const std::stop_token& stop);
    std::size_t read(char* data, std::size_t size, const Deadline& deadline,
                     const std::stop_token& stop);
    void cut() noexcept;
    [[nodiscard]] bool sent();

    /// Cuts it because of a failure to wait, and says what is known from then on.
    [[nodiscard]] HttpFailure give_up(const HttpFailure& failure);

    /// Cuts it again, where it has been: see SocketHold::shut().
    void insist() noexcept;

    // For the thread that does it.
    [[nodiscard]] const HttpRequest& request() const noexcept { return request_; }

    /// From here to detach() cut() ends this connection too. False: it has been cut, do nothing.
    [[nodiscard]] bool attach(std::shared_ptr<SocketHold> socket);
    void detach() noexcept;

    /// Once only: a second time would be the library's own idea of trying again. False: send
    /// nothing of the body. A request without its body is none, so what is cut before is unsent.
    [[nodiscard]] bool begin_body() noexcept;

    /// The next bytes of a streamed body; 0: it is over, nothing: it was cut.
    [[nodiscard]] std::optional<std::size_t> more_body(char* data, std::size_t size);

    /// That all of it has gone.
    void set_sent() noexcept;

    void set_head(HttpHead head);
    [[nodiscard]] bool take_body(std::string_view bytes); ///< false: nobody wants it
    void succeed() noexcept;
    void fail(HttpFailure::Cause cause, const std::string& why, std::string hint);

  private:
    [[nodiscard]] HttpFailure expired(const std::stop_token& stop) const;
    [[nodiscard]] bool has_failed();
    [[nodiscard]] bool was_answered();
    [[noreturn]] void throw_failure();
    [[nodiscard]] bool unsent() const noexcept; ///< under the lock

    const std::string where_; ///< for messages
    const HttpRequest request_;
    Pipe incoming_;
    Pipe outgoing_;
    std::mutex mutex_; ///< guards what follows
    std::condition_variable_any changed_;
    std::shared_ptr<SocketHold> socket_;
    std::optional<HttpHead> head_;
    std::optional<HttpFailure> failure_;
    bool body_begun_ = false;
    bool sent_ = false; ///< of a streamed body
    bool cut_ = false;
};

} // namespace berth::e2b
