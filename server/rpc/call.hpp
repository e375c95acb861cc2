#pragma once

#include "server/rpc/error.hpp"
#include "server/rpc/message.hpp"
#include "server/rpc/questions.hpp"
#include "server/rpc/sink.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

namespace berth::rpc {

/// One request until it is answered. Exactly one answer leaves it: the first reply() or fail(), or
/// an internal error from the destructor when nobody answered; after cancel() none at all.
/// Thread-safe.
class Call {
  public:
    /// `answers` takes the answer, `notifications` what is said before it; `on_closed` runs once,
    /// just before the answer is sent or when the call is dropped. `questions`: of this peer; null:
    /// it is asked nothing.
    /// `room`: keeps so many bytes more for it while it lives, or says that there are none; empty:
    /// nobody counts.
    Call(Message message, std::shared_ptr<Sink> answers, std::shared_ptr<Sink> notifications,
         std::function<void()> on_closed, std::shared_ptr<Questions> questions = nullptr,
         std::function<bool(std::size_t bytes)> room = nullptr);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    [[nodiscard]] const Message& message() const noexcept { return message_; }

    [[nodiscard]] const nlohmann::json& params() const noexcept { return *message_.params; }

    /// When it was read; work on it may have begun later.
    [[nodiscard]] std::chrono::steady_clock::time_point received() const noexcept
    {
        return received_;
    }

    /// Fires when the client cancelled the request or the server stops.
    [[nodiscard]] std::stop_token stop_token() const noexcept { return stop_.get_token(); }

    /// Counts what is held for the answer with the messages that are worked on, before it is held:
    /// many that read at once, and take no answer, cost no memory without end. Throws Error(busy)
    /// where there is no room for so long, or the call is cancelled meanwhile.
    void hold(std::size_t bytes, std::chrono::milliseconds patience = {});

    /// The same at once, for what is held in any case: false where it could not be counted.
    bool try_hold(std::size_t bytes);

    /// `result` is JSON text. False when the call was answered or cancelled before.
    bool reply(std::string result);
    bool fail(const ProtocolError& error);

    /// Of the answer: see Sink. Said after it was sent.
    void when_read(std::function<void()> then, std::function<void()> lost)
    {
        answers_->when_read(std::move(then), std::move(lost));
    }

    /// `params` is JSON text. Never waits for a peer that does not read: false when it was left out
    /// for that, or because the call is answered or cancelled.
    bool notify(const std::string& method, const std::string& params);

    /// Asks the peer, before the answer, and waits for what it says: its `result`. `params` is JSON
    /// text. Throws ProtocolError with an error that it answers, Error(busy) where it does not
    /// read, Error(cancelled) after cancel() or a stop, Error(unsupported) where it does not answer
    /// in that time or cannot be asked.
    [[nodiscard]] nlohmann::json ask(const std::string& method, const std::string& params,
                                     std::chrono::milliseconds patience);

    /// The client no longer wants an answer: stops the work, sends nothing from here on. Never
    /// blocks. An answer that is being written already is not called back.
    void cancel() noexcept;

    [[nodiscard]] bool is_cancelled() const noexcept { return state_ == State::cancelled; }

    /// The server stops: ends the work, but an answer is still sent.
    void request_stop() noexcept { stop_.request_stop(); }

  private:
    enum class State : unsigned char { open, answered, cancelled };

    bool answer(std::string text);
    /// Something before the answer.
    bool say(std::string text);
    void close() noexcept;

    std::chrono::steady_clock::time_point received_ = std::chrono::steady_clock::now();
    Message message_;
    std::shared_ptr<Sink> answers_;
    std::shared_ptr<Sink> notifications_;
    std::function<void()> on_closed_;
    std::shared_ptr<Questions> questions_;
    std::function<bool(std::size_t bytes)> room_;
    std::atomic_flag closed_; ///< a std::once_flag would ask the kernel to wake nobody each time
    std::stop_source stop_;
    std::atomic<State> state_{State::open};
    /// Held while something is sent, so that no notification follows the answer. cancel() does
    /// without: it runs on the thread that reads, which must not wait for a slow peer.
    std::mutex sending_;
};

} // namespace berth::rpc
