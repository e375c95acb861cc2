#include "sandbox/guest/call.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/guest/connection.hpp"
#include "sandbox/guest/errors.hpp"

#include <algorithm>
#include <utility>

namespace berth::guest {

Call::Call(EventLoop& loop, std::weak_ptr<Connection> connection)
    : loop_(loop), connection_(std::move(connection))
{
}

void Call::reply(std::string payload, Task after_sent)
{
    if (payload.size() > protocol::max_payload_size) {
        fail(std::make_exception_ptr(
            Error(ErrorCode::too_large,
                  "the result has " + std::to_string(payload.size()) + " bytes, at most " +
                      std::to_string(protocol::max_payload_size) + " can be returned",
                  "ask for less at once")));
        return;
    }
    finish(protocol::FrameType::reply, std::move(payload), std::move(after_sent));
}

void Call::soon(Task task)
{
    loop_.post(std::move(task));
}

void Call::later(std::chrono::milliseconds time, Task task)
{
    (void)loop_.call_at(BootClock::now() + time, std::move(task));
}

void Call::fail(const std::exception_ptr& error)
{
    finish(protocol::FrameType::error, encode_error(error), {});
}

void Call::finish(protocol::FrameType type, std::string payload, Task after_sent)
{
    loop_.post([self = shared_from_this(), type, payload = std::move(payload),
                after_sent = std::move(after_sent)]() mutable {
        if (std::exchange(self->answered_, true)) {
            if (after_sent) {
                after_sent();
            }
            return;
        }
        self->ticket_.reset(); // whoever has the answer finds the call ended
        self->room_.reset();   // which a book that keeps the call has no use for, nor for its data
        while (self->incoming_.pop()) {
        }
        if (self->on_answer_) {
            self->on_answer_(*self, type, payload);
        }
        const auto connection = self->connection_.lock();
        if (connection) {
            connection->finish(*self, type, std::move(payload), std::move(after_sent));
        } else if (after_sent) {
            after_sent();
        }
        if (type == protocol::FrameType::error && !connection) {
            self->await_nobody();
        } else if (type == protocol::FrameType::error || !self->awaits_acknowledgement()) {
            self->forget_handlers();
        }
    });
}

/// An error that no connection takes is told to whoever comes back for the call, and needs no
/// acknowledgement. That nobody did on_gone() has yet to hear.
void Call::await_nobody() noexcept
{
    on_cancel_ = nullptr;
    on_acknowledged_ = nullptr;
}

bool Call::tell(std::string event)
{
    const auto connection = connection_.lock();
    return connection && connection->tell(*this, std::move(event));
}

std::string Call::asker() const
{
    const auto connection = connection_.lock();
    return connection ? connection->asker() : std::string();
}

std::string Call::server() const
{
    const auto connection = connection_.lock();
    return connection ? connection->server() : std::string();
}

void Call::drop_request()
{
    std::string().swap(request_);
    while (incoming_.pop()) {
    }
    room_.reset();
}

/// Which connection it is by then only the loop's thread knows.
void Call::pump_soon()
{
    loop_.post([self = shared_from_this()] {
        if (const auto connection = self->connection_.lock()) {
            connection->pump();
        }
    });
}

void Call::forget_handlers() noexcept
{
    on_cancel_ = nullptr;
    on_gone_ = nullptr;
    on_acknowledged_ = nullptr;
}

void Call::send_data(std::string_view data)
{
    while (!data.empty()) {
        const auto piece = data.substr(0, std::min(data.size(), protocol::max_data_size));
        data.remove_prefix(piece.size());
        if (!outgoing_.push_waiting(std::string(piece), stop_.get_token())) {
            throw Error(ErrorCode::cancelled, "the call was cancelled",
                        "call again if it is still wanted");
        }
        pump_soon();
    }
}

std::string Call::receive_data()
{
    auto piece = incoming_.pop_waiting(stop_.get_token());
    if (!piece) {
        throw Error(ErrorCode::cancelled, "the call was cancelled",
                    "call again if it is still wanted");
    }
    if (incoming_.bytes() < DataQueue::high_water &&
        incoming_.bytes() + piece->size() >= DataQueue::high_water) {
        // This piece was what kept the socket from being read.
        pump_soon();
    }
    return std::move(*piece);
}

void Call::cancel()
{
    stop_.request_stop();
    if (on_cancel_) {
        on_cancel_();
    }
}

void Call::gone()
{
    const auto self = shared_from_this(); // a handler may hold the last reference
    stop_.request_stop();
    const auto tell = std::exchange(on_gone_, nullptr);
    forget_handlers();
    if (tell) {
        tell();
    }
    // Nobody waits for it: a worker that hangs on a dead mount must not keep the session awake, and
    // its machine alive, for ever.
    ticket_.reset();
}

void Call::acknowledged()
{
    const auto self = shared_from_this();
    const auto tell = std::exchange(on_acknowledged_, nullptr);
    forget_handlers();
    if (tell) {
        tell();
    }
}

void Call::repeated()
{
    if (const auto tell = on_repeated_) {
        tell();
    }
}

void Call::declined()
{
    const auto self = shared_from_this();
    cancel();
    acknowledged();
}

void Call::cut_input()
{
    if (std::exchange(input_open_, false)) {
        cancel();
    }
}

bool Call::take_data(std::string piece, bool last)
{
    if (!input_open_) {
        return false;
    }
    incoming_.push(std::move(piece));
    if (last) {
        input_open_ = false;
        incoming_.close();
    }
    return true;
}

} // namespace berth::guest
