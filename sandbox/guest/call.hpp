#pragma once

#include "sandbox/guest/data_queue.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/pause/call_book.hpp"
#include "sandbox/guest/payload_budget.hpp"
#include "sandbox/protocol/frame.hpp"

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace berth::guest {

class Connection;

/// One call in progress: what its handler, on the loop's thread or on a worker's, has of the
/// connection. Lives on when the connection is gone.
class Call : public std::enable_shared_from_this<Call> {
  public:
    using Task = EventLoop::Task;

    Call(EventLoop& loop, std::weak_ptr<Connection> connection);

    // ---- any thread ----

    /// The answer; the first one counts. `after_sent` runs on the loop's thread when all of it has
    /// been written or the connection is gone.
    void reply(std::string payload, Task after_sent = {});
    void fail(const std::exception_ptr& error);

    [[nodiscard]] std::stop_token stop_token() const { return stop_.get_token(); }

    /// True for the first who asks: the worker whose turn it is, or the cancel that came before it.
    [[nodiscard]] bool claim() noexcept { return !claimed_.exchange(true); }

    // ---- a worker ----

    /// After claim().
    [[nodiscard]] std::string take_request() { return std::move(request_); }

    /// See CallContext. Throw Error(cancelled) after a stop request.
    void send_data(std::string_view data);
    [[nodiscard]] std::string receive_data();

    // ---- the loop's thread ----

    /// The handler's: what shall happen, besides the stop request, when the host cancels the call,
    /// also behind an answer that is not acknowledged, and when its connection is gone.
    void on_cancel(Task task) { on_cancel_ = std::move(task); }

    void on_gone(Task task) { on_gone_ = std::move(task); }

    /// The answer is not the end of the call: until the host has acknowledged it, on_gone() stands.
    /// Said before reply().
    void on_acknowledged(Task task) { on_acknowledged_ = std::move(task); }

    /// The bytes of a request that waits for a worker, who takes them.
    void keep_request(std::string request) { request_ = std::move(request); }

    /// Everything of a call that claim() has kept from ever beginning, which may stay in the queue
    /// for long: its request, the data that came with it, its room.
    void drop_request();

    /// An event for the host. False, and nothing is sent, while the host does not read what it was
    /// sent before, and once it has the answer.
    bool tell(std::string event);

    /// Kept while anybody has the call.
    void keep_room(std::shared_ptr<PayloadBudget::Ticket> room) { room_ = std::move(room); }

    /// That it is in flight, until it is answered, or nobody has it any more.
    void keep_ticket(std::shared_ptr<CallBook::Ticket> ticket) { ticket_ = std::move(ticket); }

    /// For whoever asks what is in flight.
    void say(std::string what)
    {
        if (ticket_) {
            ticket_->say(std::move(what));
        }
    }

    /// The operation takes data frames.
    void accept_data() noexcept { input_open_ = true; }

    // The connection's.
    void cancel();
    void gone();
    void acknowledged();
    /// Instead of acknowledged(): the call was cancelled behind its answer.
    void declined();

    [[nodiscard]] bool awaits_acknowledgement() const noexcept
    {
        return on_acknowledged_ != nullptr;
    }

    /// False when none is expected.
    bool take_data(std::string piece, bool last);

    [[nodiscard]] bool input_open() const noexcept { return input_open_; }

    [[nodiscard]] bool input_full() const { return incoming_.bytes() >= DataQueue::high_water; }

    [[nodiscard]] DataQueue& outgoing() noexcept { return outgoing_; }

  private:
    void finish(protocol::FrameType type, std::string payload, Task after_sent);
    /// A handler may hold the call: kept beyond its end, both would live for ever.
    void forget_handlers() noexcept;

    EventLoop& loop_;
    const std::weak_ptr<Connection> connection_;
    std::shared_ptr<PayloadBudget::Ticket> room_; ///< of the request
    std::shared_ptr<CallBook::Ticket> ticket_;    ///< let go of on the loop's thread
    std::stop_source stop_;
    std::atomic<bool> claimed_ = false;
    Task on_cancel_;
    Task on_gone_;
    Task on_acknowledged_;
    std::string request_; ///< of whoever has the claim
    bool input_open_ = false;
    DataQueue incoming_;
    DataQueue outgoing_;
};

} // namespace berth::guest
