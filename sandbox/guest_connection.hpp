#pragma once

#include "sandbox/base/deadline.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/channel.hpp"
#include "sandbox/late_words.hpp"
#include "sandbox/protocol/frame.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace berth::sandbox {

/// The guest speaks no version of the protocol that this server does.
class OtherVersion : public Error {
  public:
    explicit OtherVersion(const Error& refusal) : Error(refusal) {}
};

/// The guest does not take the hello, and so has not begun the call that came with it.
class Refused : public Error {
  public:
    explicit Refused(const Error& refusal) : Error(refusal) {}
};

/// What a hello says.
struct Introduction {
    std::string token;
    std::string generation;
    std::string server;          ///< see protocol::Hello
    bool as_client = false;      ///< likewise
    bool of_any_version = false; ///< of an older guest too, for what stays the same in all of them
    LateWords::Words words = {}; ///< likewise
    std::optional<std::chrono::milliseconds> lease = {}; ///< likewise
};

/// Makes a connection with what is sent first on it: see sandbox::Machine::open().
using Opener = std::function<std::unique_ptr<Channel>(std::string_view opening)>;

/// The host's end of one connection: frames out and in, the hello, the cancel of the call that is
/// on its way. What comes from the guest is believed as little as what comes from a network.
///
/// One thread sends, one receives; cancel() and shutdown() may be called by any thread.
class GuestConnection {
  public:
    explicit GuestConnection(std::unique_ptr<Channel> channel) noexcept;

    /// One that is made with its only request, of which `opening` bytes go with it at most. What
    /// say_hello() says of refusals holds for receive() then: it throws Refused.
    GuestConnection(Opener open, std::size_t opening);
    ~GuestConnection();
    GuestConnection(const GuestConnection&) = delete;
    GuestConnection& operator=(const GuestConnection&) = delete;

    /// Throws Error: what the guest refused it for, as OtherVersion where that is it; backend_error
    /// when it is not berth's guest.
    void say_hello(const Introduction& introduction, const Deadline& deadline);

    /// Called when the guest has taken a hello that goes with a request.
    void on_welcome(std::function<void()> welcomed) { welcomed_ = std::move(welcomed); }

    /// Of the guest, once it has answered the hello: it answers a named call that is sent again.
    [[nodiscard]] bool repeats() const noexcept { return repeats_; }

    /// The beginning of a call: forgets the cancel of the last one.
    void begin() noexcept;

    void send_request(std::uint16_t operation, std::string_view payload);
    void send_data(std::string_view piece, bool last);

    /// See Channel.
    void sent_all();

    /// A guest acts on whole frames only: while this is false, no call has begun. Also false after
    /// receive() found that the guest is gone and had not read the end of the request.
    [[nodiscard]] bool request_sent() const noexcept { return request_sent_; }

    /// Sends a cancel frame, now or after the frame that is being sent. Does not wait for that one.
    void cancel() noexcept;

    /// The same by a thread of its own, and returns at once: for the one who reads a client's
    /// messages, which must not wait for a guest, nor for whatever is on the way to it. Once for
    /// each call.
    void cancel_soon() noexcept;

    /// The call is over: after this nothing of its cancel is being sent. One that is still on its
    /// way is broken off with the connection where that is of no further use.
    void end_cancel(bool of_further_use) noexcept;

    /// Of the reply that was received last. Does not wait for the guest.
    void acknowledge();
    /// Or this, instead.
    void decline();

    [[nodiscard]] bool cancel_wanted() const noexcept { return cancel_wanted_; }

    /// The next frame, nothing when the deadline passed. Throws Error(session_lost) at the end of
    /// the stream and Error(backend_error) for what is not a frame.
    [[nodiscard]] std::optional<protocol::Frame> receive(const Deadline& deadline);

    /// False for one that is to be made with its request, until it was.
    [[nodiscard]] bool is_made() const;

    /// Ends the stream: a receive and a send in progress return with Error(session_lost).
    void shutdown() noexcept;

    /// See Channel::hang_up(). Nothing can be sent or received after it.
    void hang_up(const Deadline& deadline) noexcept { channel_->hang_up(deadline); }

  private:
    void send(protocol::FrameType type, std::string_view payload, std::uint16_t operation,
              std::uint8_t flags);
    void send_bytes(std::string_view head, std::string_view payload);
    void open_with(std::string_view head, std::string_view payload);
    void flush_cancel() noexcept;
    void take_welcome(const protocol::Frame& frame);
    [[nodiscard]] bool await_channel(const Deadline& deadline);
    [[nodiscard]] std::optional<protocol::Frame> receive_frame(const Deadline& deadline);
    [[nodiscard]] std::size_t receive_some(char* data, std::size_t size, const Deadline& deadline);

    const Opener open_; ///< empty: the channel was there from the start
    const std::size_t opening_ = 0;
    std::string hello_;        ///< to be sent with the first request
    std::string generation_;   ///< that the hello named
    std::uint32_t oldest_ = 0; ///< likewise
    std::function<void()> welcomed_;
    bool welcome_ = false;             ///< the hello was answered
    mutable std::mutex channel_mutex_; ///< guards the making of the channel, not its use
    std::condition_variable made_;     ///< or shut
    bool shut_ = false;                ///< before there was one; guarded by channel_mutex_
    std::unique_ptr<Channel> channel_;
    protocol::FrameReader reader_{protocol::max_hello_size};
    bool repeats_ = false;
    std::mutex send_mutex_;
    bool cancel_sent_ = false;     ///< guarded by send_mutex_
    bool request_is_last_ = false; ///< of what was sent; guarded by send_mutex_
    std::atomic<bool> request_sent_ = false;
    std::atomic<bool> cancel_wanted_ = false;
    std::atomic<bool> cancelling_ = false; ///< the thread below is at it
    std::jthread canceller_;               ///< last: it uses the others
};

/// What an error frame says. Throws Error(backend_error) when it is malformed.
[[nodiscard]] Error remote_error(std::string_view payload);

/// Throws Error(backend_error), to be tried again: the guest, which has not had the call, says
/// nothing.
[[noreturn]] void throw_silent();

/// Throws Error(backend_error): the guest does not keep to the protocol.
[[noreturn]] void throw_violation(const std::string& what);

} // namespace berth::sandbox
