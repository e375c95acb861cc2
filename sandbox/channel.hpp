#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"

#include <cstddef>
#include <string_view>

namespace berth::sandbox {

/// The stream broke, and the guest has not read all that was sent to it before.
class LeftUnread : public Error {
  public:
    using Error::Error;
};

/// The machine cannot be reached, and the guest has not had the request: nothing has begun.
class Unsent : public Error {
  public:
    enum class Of : unsigned char {
        gone,     ///< the machine: the same call may be made on another one
        replaced, ///< the same; another one is in its place
        way_there ///< the machine may well be there, and must not be replaced
    };

    explicit Unsent(const Error& cause, Of of = Of::gone) : Error(cause), of_(of) {}

    [[nodiscard]] bool is_of_gone() const noexcept { return of_ != Of::way_there; }

    [[nodiscard]] bool is_of_replaced() const noexcept { return of_ == Of::replaced; }

  private:
    Of of_;
};

/// Somebody on the way has answered in place of the guest, or nobody has: whether that has had the
/// request is not known, and the machine may well be there.
class Unanswered : public Error {
  public:
    explicit Unanswered(const Error& cause)
        : Error(ErrorCode::backend_error, cause.what(),
                "It may have been done, or may go on: look before you repeat it.")
    {
    }
};

/// A byte stream to the guest of one machine. One thread sends, one receives; shutdown() may be
/// called by any thread at any time and makes both return at once.
class Channel {
  public:
    Channel() = default;
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;
    virtual ~Channel() = default;

    /// Sends all of it. Throws Error(session_lost) when the guest is gone.
    virtual void send(std::string_view bytes) = 0;

    /// The same of what is worth nothing later: a channel on which it may be held up on the way
    /// throws where it has not arrived in a moment.
    virtual void send_urgent(std::string_view bytes) { send(bytes); }

    /// At least one byte, at most `size`; 0 at the end of the stream or after shutdown(). Throws
    /// Error(backend_error) when the deadline passes, Error(session_lost) when the stream broke;
    /// where it is known for certain, as LeftUnread.
    virtual std::size_t receive(char* data, std::size_t size, const Deadline& deadline) = 0;

    /// The request of a call and its data have been sent: at most a cancel follows. A channel on
    /// which the end of that may not arrive, and which knows, says so by the next receive() whose
    /// deadline passes. By whoever sends.
    virtual void sent_all() noexcept {}

    virtual void shutdown() noexcept = 0;

    /// Says that nothing more comes, and waits until the guest has closed its end as well: from
    /// then on it does not count this connection. Gives up at the deadline. Not beside another
    /// call, and nothing can be sent or received after it.
    virtual void hang_up(const Deadline& deadline) noexcept
    {
        static_cast<void>(deadline);
        shutdown();
    }
};

} // namespace berth::sandbox
