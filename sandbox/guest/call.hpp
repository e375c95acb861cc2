#pragma once

#include "sandbox/guest/data_queue.hpp"
#include "sandbox/guest/event_loop.hpp"
#include "sandbox/guest/pause/call_book.hpp"
#include "sandbox/guest/payload_budget.hpp"
#include "sandbox/protocol/frame.hpp"

#include <atomic>
#include <chrono>
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

    /// Runs `task` on the loop's thread, whatever has become of the call by then.
    void soon(Task task);

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
    /// also behind an answer that is not acknowledged, and when its connection is gone: before the
    /// answer, behind one that is not acknowledged, or behind an error that it was too late for.
    void on_cancel(Task task) { on_cancel_ = std::move(task); }

    void on_gone(Task task) { on_gone_ = std::move(task); }

    /// Runs `task` so much later, whatever has become of the call by then.
    void later(std::chrono::milliseconds time, Task task);

    /// The answer is not the end of the call: until the host has acknowledged it, on_gone() stands.
    /// Said before reply().
    void on_acknowledged(Task task) { on_acknowledged_ = std::move(task); }

    /// Somebody asks again for the answer that was given: it stands as on the first day, so this
    /// says again what shall happen behind it.
    void on_repeated(Task task) { on_repeated_ = std::move(task); }

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

    // NamedCalls'.
    void set_name(std::string name) { name_ = std::move(name); }

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// Hears of every answer, also when there is no connection.
    using Hearer =
        std::function<void(const Call& call, protocol::FrameType type, const std::string& payload)>;

    void on_answer(Hearer hearer) { on_answer_ = std::move(hearer); }

    void repeated();

    [[nodiscard]] std::shared_ptr<Connection> connection() const { return connection_.lock(); }

    /// See Connection::asker; empty when that is gone.
    [[nodiscard]] std::string asker() const;

    /// That of its connection's hello; empty when that is gone, or named none.
    [[nodiscard]] std::string server() const;

    // The connection's.
    void set_connection(std::weak_ptr<Connection> connection)
    {
        connection_ = std::move(connection);
    }

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

    /// The rest of its data was to come where nobody is any more: it ends without.
    void cut_input();

    [[nodiscard]] bool input_full() const { return incoming_.bytes() >= DataQueue::high_water; }

    [[nodiscard]] DataQueue& outgoing() noexcept { return outgoing_; }

  private:
    void finish(protocol::FrameType type, std::string payload, Task after_sent);
    void pump_soon();
    void await_nobody() noexcept;
    /// A handler may hold the call: kept beyond its end, both would live for ever.
    void forget_handlers() noexcept;

    EventLoop& loop_;
    std::weak_ptr<Connection> connection_; ///< of the loop's thread
    std::string name_;                     ///< empty: it cannot be repeated
    Hearer on_answer_;
    std::shared_ptr<PayloadBudget::Ticket> room_; ///< of the request
    std::shared_ptr<CallBook::Ticket> ticket_;    ///< let go of on the loop's thread
    std::stop_source stop_;
    std::atomic<bool> claimed_ = false;
    bool answered_ = false; ///< of the loop's thread
    Task on_cancel_;
    Task on_gone_;
    Task on_acknowledged_;
    Task on_repeated_;
    std::string request_; ///< of whoever has the claim
    bool input_open_ = false;
    DataQueue incoming_;
    DataQueue outgoing_;
};

} // namespace berth::guest
