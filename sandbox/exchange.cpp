#include "sandbox/exchange.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/protocol/wire.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

namespace berth::sandbox {
namespace {

using protocol::FrameType;

/// A socket takes that much at once. What is larger is sent by a thread of its own, since the guest
/// may answer, or be given up, before it has read all.
constexpr std::size_t direct_limit = 64UL * 1024;

/// How soon a stop request is noticed by the thread that waits for the answer, and how long after
/// it what the guest does not read is given up. The cancel frame does not wait for it.
constexpr std::chrono::seconds notice_time{1};

/// Sends the request and the data of an import on a thread.
class Sender {
  public:
    Sender(GuestConnection& connection, const Exchange& call)
        : connection_(connection), thread_([this, &call] { run(call); })
    {
    }

    /// Ends what is still being sent.
    ~Sender()
    {
        if (!done_) {
            stop_ = true;
            connection_.shutdown();
        }
    }

    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    [[nodiscard]] bool done() const noexcept { return done_; }

    /// What the source threw, if it was that which broke the connection, or what kept that from
    /// being made.
    void rethrow()
    {
        stop_ = true;
        connection_.shutdown();
        thread_.join();
        if (error_) {
            std::rethrow_exception(error_);
        }
    }

  private:
    void run(const Exchange& call) noexcept
    {
        try {
            connection_.send_request(static_cast<std::uint16_t>(call.operation), call.request);
            if (call.source == nullptr || send_data(*call.source)) {
                connection_.sent_all();
                done_ = true;
            }
        } catch (...) {
            if (!connection_.is_made()) {
                error_ = std::current_exception(); // of which no receiver hears
            }
            connection_.shutdown(); // the receiver says what of
        }
    }

    /// False when it was broken off.
    bool send_data(const DataSource& source)
    {
        while (!connection_.cancel_wanted()) {
            const std::string piece = next_piece(source);
            if (piece.empty()) {
                break;
            }
            for (std::string_view rest = piece; !rest.empty();) {
                if (stop_) {
                    return false;
                }
                const auto part = rest.substr(0, protocol::max_data_size);
                connection_.send_data(part, /*last=*/false);
                rest.remove_prefix(part.size());
            }
        }
        if (connection_.cancel_wanted()) {
            // Before the end of the data: the guest would take half of it for the whole.
            connection_.cancel();
        }
        connection_.send_data({}, /*last=*/true);
        return true;
    }

    std::string next_piece(const DataSource& source)
    {
        try {
            return source();
        } catch (...) {
            error_ = std::current_exception();
            throw;
        }
    }

    GuestConnection& connection_;
    std::atomic<bool> stop_ = false;
    std::atomic<bool> done_ = false;
    std::exception_ptr error_; ///< read after the thread's end
    std::jthread thread_;      ///< last: it uses the others
};

/// Waits for the answer, hands on data.
class Receiver {
  public:
    /// `sender`: null when all was sent before. `stopped`: set before the connection's cancel.
    Receiver(GuestConnection& connection, const Exchange& call, const Sender* sender,
             const std::atomic<Deadline::Clock::time_point>& stopped)
        : connection_(connection), call_(call), sender_(sender), stopped_(stopped),
          deadline_(call.deadline), silence_(limit_of_silence())
    {
    }

    protocol::Frame run()
    {
        for (;;) {
            auto frame = connection_.receive(next_deadline());
            check_deadlines();
            if (!frame) {
                look_whether_alive();
                continue;
            }
            silence_ = limit_of_silence();
            if (frame->type == FrameType::reply || frame->type == FrameType::error) {
                return std::move(*frame);
            }
            take(*frame);
        }
    }

  private:
    [[nodiscard]] Deadline next_deadline() const
    {
        if (!cancelled_.is_never()) {
            return Deadline::earlier(cancelled_, deadline_);
        }
        const auto next = Deadline::earlier(silence_, deadline_);
        return call_.stop.stop_possible() ? Deadline::earlier(Deadline::after(notice_time), next)
                                          : next;
    }

    [[nodiscard]] Deadline limit_of_silence() const
    {
        return call_.is_alive ? Deadline::after(call_.patience) : Deadline();
    }

    /// Most calls have no time of their own: one to a guest that was stopped would wait for ever.
    void look_whether_alive()
    {
        if (!cancelled_.is_never() || !silence_.expired()) {
            return;
        }
        if (!call_.is_alive()) {
            throw Error(ErrorCode::backend_error, "the sandbox's guest does not answer any more",
                        "What the call began may go on there once it does, and is named in a later "
                        "result then: look before you repeat it. If nothing answers, the operator "
                        "ends the session with `berth "
                        "sessions kill`.");
        }
        silence_ = limit_of_silence();
    }

    void check_deadlines()
    {
        if (deadline_.expired()) {
            throw Error(ErrorCode::backend_error, "the sandbox's guest did not answer in time",
                        "What the call began may still go on there: look before you repeat it. If "
                        "nothing answers any more, the operator ends the session with `berth "
                        "sessions kill`.");
        }
        if (cancelled_.is_never() && connection_.cancel_wanted()) {
            // A guest that does not read the request or its data on (it has no room, the call
            // waits for a thread, or it was stopped) would not read a cancel behind it either.
            could_read_ = all_sent();
            const auto time = could_read_ ? Sandbox::cancel_time : notice_time;
            cancelled_ = Deadline::after(stopped_.load() + time - Deadline::Clock::now());
        } else if (cancelled_.expired() && !could_read_ && all_sent()) {
            could_read_ = true;
            cancelled_ = Deadline::after(Sandbox::cancel_time);
        }
        if (cancelled_.expired()) {
            throw Error(ErrorCode::cancelled,
                        "the call was cancelled, and the sandbox did not confirm its end",
                        "What it began may still go on: look before you repeat it.");
        }
    }

    [[nodiscard]] bool all_sent() const noexcept { return sender_ == nullptr || sender_->done(); }

    void take(const protocol::Frame& frame) const
    {
        if (frame.type == FrameType::event && frame.payload.size() <= protocol::max_event_size) {
            tell(frame.payload);
            return;
        }
        if (frame.type != FrameType::data || call_.sink == nullptr ||
            frame.payload.size() > protocol::max_data_size) {
            throw_violation("a frame of type " + std::to_string(static_cast<unsigned>(frame.type)) +
                            " with " + std::to_string(frame.payload.size()) +
                            " bytes where none may be");
        }
        (*call_.sink)(frame.payload);
    }

    void tell(std::string_view payload) const
    {
        if (call_.printed == nullptr || !*call_.printed) {
            return;
        }
        protocol::Event event;
        try {
            event = protocol::decode<protocol::Event>(payload);
        } catch (const protocol::WireError& malformed) {
            throw_violation(malformed.what());
        }
        if (event.printed) {
            (*call_.printed)(*event.printed);
        }
    }

    GuestConnection& connection_;
    const Exchange& call_;
    const Sender* sender_;
    const std::atomic<Deadline::Clock::time_point>& stopped_;
    Deadline deadline_;
    Deadline silence_; ///< when the guest is asked whether it is there
    Deadline cancelled_;
    bool could_read_ = false; ///< the cancel, when `cancelled_` was set
};

/// Some of its data is not with the guest. Of several files one may be there whole, and is put in
/// place as soon as it is, perhaps while this is said.
[[noreturn]] void throw_broken_off()
{
    throw Error(ErrorCode::cancelled, "the call was cancelled before its data was sent whole",
                "A file that had arrived whole may still be put in place; the others are as they "
                "were: look, or load again.");
}

/// Nothing of the cancel is left when the call is over: it would be the next call's.
class EndOfCancel {
  public:
    explicit EndOfCancel(GuestConnection& connection) noexcept : connection_(connection) {}

    ~EndOfCancel() { connection_.end_cancel(answered_); }

    EndOfCancel(const EndOfCancel&) = delete;
    EndOfCancel& operator=(const EndOfCancel&) = delete;

    void answered() noexcept { answered_ = true; }

  private:
    GuestConnection& connection_;
    bool answered_ = false;
};

} // namespace

void throw_not_begun()
{
    throw Error(ErrorCode::cancelled, "the call was cancelled before it began", not_begun);
}

Answer exchange(GuestConnection& connection, const Exchange& call)
{
    connection.begin();
    EndOfCancel end(connection); // behind the callback, which may run until that is gone
    std::atomic<Deadline::Clock::time_point> stopped;
    const std::stop_callback on_stop(call.stop, [&] {
        stopped = Deadline::Clock::now();
        if (call.leaving != nullptr && *call.leaving) {
            connection.shutdown();
        } else {
            connection.cancel_soon();
        }
    });
    std::optional<Sender> sender;
    if (call.source != nullptr || call.request.size() > direct_limit) {
        sender.emplace(connection, call);
    } else {
        connection.send_request(static_cast<std::uint16_t>(call.operation), call.request);
    }
    try {
        auto frame = Receiver(connection, call, sender ? &*sender : nullptr, stopped).run();
        end.answered();
        return {.is_error = frame.type == FrameType::error,
                .reusable = !sender || sender->done(),
                .unseen = (frame.flags & protocol::flag_unseen) != 0,
                .payload = std::move(frame.payload)};
    } catch (const Error& error) {
        if (sender) {
            sender->rethrow();
        }
        // Known for certain only now that nothing is being sent any more.
        if (error.code() == ErrorCode::cancelled && !connection.request_sent()) {
            throw_not_begun();
        }
        if (error.code() == ErrorCode::cancelled && sender && !sender->done()) {
            throw_broken_off();
        }
        throw;
    } catch (...) {
        if (sender) {
            sender->rethrow();
        }
        throw;
    }
}

} // namespace berth::sandbox
