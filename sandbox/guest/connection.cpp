#include "sandbox/guest/connection.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/guest/errors.hpp"
#include "sandbox/guest/heap.hpp"
#include "sandbox/guest/leases.hpp"
#include "sandbox/guest/wiping.hpp"
#include "sandbox/protocol/messages.hpp"
#include "sandbox/protocol/wire.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <string.h> // NOLINT(modernize-deprecated-headers): explicit_bzero
#include <sys/epoll.h>
#include <sys/socket.h>

namespace berth::guest {
namespace {

/// Of one connection before the others have their turn.
constexpr int reads_per_turn = 4;
constexpr int pieces_per_turn = 4;

/// Frees of such sizes are worth the walk through the heap that gives pages back.
constexpr std::size_t trim_size = 1024UL * 1024;

[[noreturn]] void violate(const std::string& what)
{
    throw protocol::WireError(what);
}

} // namespace

Connection::Connection(EventLoop& loop, UniqueFd socket, ConnectionOwner& owner)
    : loop_(loop), socket_(std::move(socket)), owner_(owner)
{
}

Connection::~Connection()
{
    loop_.cancel(timer_);
    if (socket_) {
        loop_.unwatch(socket_.get());
    }
}

void Connection::start()
{
    events_ = EPOLLIN;
    loop_.watch(socket_.get(), events_, [weak = weak_from_this()](std::uint32_t events) {
        if (const auto self = weak.lock()) {
            self->on_events(events);
        }
    });
    set_timer(hello_time);
}

void Connection::set_timer(std::chrono::milliseconds time)
{
    loop_.cancel(timer_);
    timer_ = loop_.call_at(BootClock::now() + time, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) {
            self->close();
        }
    });
}

void Connection::close() noexcept
{
    if (state_ == State::closed) {
        return;
    }
    const auto self = shared_from_this(); // the owner lets go of it below
    state_ = State::closed;
    loop_.cancel(timer_);
    loop_.unwatch(socket_.get());
    socket_.reset();
    room_.reset();
    owner_.ends(*this);
    drop_calls();
    if (const auto task = std::exchange(after_sent_, {})) {
        task();
    }
    owner_.closed(*this);
}

void Connection::drop_calls()
{
    for (auto* const call : {&answered_, &call_}) {
        if (const auto dropped = std::exchange(*call, nullptr)) {
            owner_.lost(dropped);
        }
    }
}

void Connection::on_events(std::uint32_t events)
{
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
        take_last_word();
        close();
        return;
    }
    if ((events & EPOLLIN) != 0) {
        receive();
    }
    if (state_ != State::closed && (events & EPOLLOUT) != 0) {
        pump();
    }
}

/// A peer that has closed reads no answer: of what it sent before, only that it has had one counts.
void Connection::take_last_word() noexcept
{
    if (!answered_) {
        return;
    }
    std::array<char, protocol::frame_header_size> bytes{};
    // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): it does not wait
    const ssize_t size = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    try {
        reader_.feed({bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))});
        const auto frame = reader_.next();
        if (frame && frame->type == protocol::FrameType::acknowledge) {
            take_acknowledgement();
        } else if (frame && frame->type == protocol::FrameType::cancel) {
            take_cancel();
        }
    } catch (const std::exception&) {
        return; // as if it had said nothing
    }
}

void Connection::receive()
{
    if (!owner_.is_reading()) {
        update_events(); // else it would be told of it again and again
        return;
    }
    const auto buffer = loop_.read_buffer();
    for (int turn = 0; turn < reads_per_turn && (events_ & EPOLLIN) != 0 && owner_.is_reading();
         ++turn) {
        // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): it does not wait
        const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (size <= 0) {
            close();
            return;
        }
        take(buffer.first(static_cast<std::size_t>(size)));
        wipe_stack();
        if (state_ == State::closed) {
            return;
        }
        update_events();
        if (static_cast<std::size_t>(size) < buffer.size()) {
            return;
        }
    }
}

void Connection::take(std::span<char> bytes)
{
    try {
        reader_.feed({bytes.data(), bytes.size()});
        // Before the request in them is begun: a command's shim is a copy of this process.
        ::explicit_bzero(bytes.data(), bytes.size());
        while (state_ == State::new_comer || state_ == State::ready) {
            auto frame = reader_.next();
            if (!frame) {
                ask_for_room();
                limit_silence();
                return;
            }
            take_frame(std::move(*frame));
        }
    } catch (...) {
        refuse(std::current_exception());
    }
}

void Connection::take_frame(protocol::Frame frame)
{
    if (state_ == State::new_comer) {
        take_hello(frame);
        return;
    }
    switch (frame.type) {
    case protocol::FrameType::request:
        take_request(std::move(frame));
        return;
    case protocol::FrameType::data:
        take_data(std::move(frame));
        return;
    case protocol::FrameType::cancel:
        take_cancel();
        return;
    case protocol::FrameType::acknowledge:
        take_acknowledgement();
        return;
    case protocol::FrameType::hello:
    case protocol::FrameType::hello_reply:
    case protocol::FrameType::reply:
    case protocol::FrameType::error:
    case protocol::FrameType::event:
        break;
    }
    violate("a frame that a host does not send now");
}

void Connection::take_hello(const protocol::Frame& frame)
{
    if (frame.type != protocol::FrameType::hello) {
        violate("a connection begins with a hello");
    }
    const auto hello = protocol::decode<protocol::Hello>(frame.payload);
    const auto reply = owner_.welcome(hello);
    loop_.cancel(timer_);
    state_ = State::ready;
    reader_.set_limit(protocol::max_payload_size);
    output_.push(protocol::FrameType::hello_reply, protocol::encode(reply));
    server_ = hello.server;
    if (hello.lease) {
        lease_ = Leases::bounded(*hello.lease);
    }
    if (hello.client) {
        client_ = true;
        owner_.client_came(*this);
    }
    send();
}

/// The room is granted before the bytes come, so that what waits for room holds none.
void Connection::ask_for_room()
{
    const auto request = reader_.announced();
    if (!request || room_) {
        return;
    }
    if (request->type != protocol::FrameType::request) {
        violate("a frame of " + std::to_string(request->size) + " bytes that is no request");
    }
    room_ = owner_.room_for(*request, [weak = weak_from_this()] {
        if (const auto self = weak.lock(); self && self->state_ != State::closed) {
            self->limit_silence();
            self->update_events();
        }
    });
}

void Connection::limit_silence()
{
    if (!room_ || !room_->granted()) {
        return;
    }
    loop_.cancel(timer_);
    timer_ = loop_.call_at(BootClock::now() + owner_.patience(), [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) {
            return;
        }
        // The time may have been this process's own, or that of a host that was suspended: then
        // bytes are there, and only wait to be read.
        char byte = 0;
        // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): it does not wait
        if (::recv(self->socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
            self->limit_silence();
        } else {
            self->close();
        }
    });
}

void Connection::take_request(protocol::Frame frame)
{
    if (call_) {
        violate("a request before the answer to the last one");
    }
    if (discard_data_) {
        violate("a request before the end of the last one's data");
    }
    loop_.cancel(timer_);
    take_acknowledgement(); // by whoever goes on
    // One of an earlier release does not say what it is.
    const auto operation = static_cast<protocol::Operation>(frame.operation);
    client_ =
        client_ || (operation <= protocol::newest_operation && !protocol::only_manages(operation));
    const auto call = std::make_shared<Call>(loop_, weak_from_this());
    call_ = call;
    call->keep_room(std::exchange(room_, nullptr));
    try {
        owner_.begin(call, std::move(frame));
    } catch (...) {
        call->fail(std::current_exception());
    }
}

void Connection::take_acknowledgement()
{
    if (const auto call = std::exchange(answered_, nullptr)) {
        call->acknowledged();
        owner_.seen(*call);
    }
}

void Connection::take_cancel()
{
    if (const auto call = call_) {
        call->cancel();
    } else if (answered_ && answered_->awaits_acknowledgement()) {
        const auto answered = std::exchange(answered_, nullptr);
        answered->declined();
        owner_.seen(*answered);
    } // else it has crossed the reply
}

void Connection::take_data(protocol::Frame frame)
{
    const bool last = (frame.flags & protocol::flag_last) != 0;
    if (frame.payload.size() > protocol::max_data_size) {
        violate("a piece of data above the limit");
    }
    if (discard_data_) {
        discard_data_ = !last;
    } else if (!call_ || !call_->take_data(std::move(frame.payload), last)) {
        violate("data for an operation that takes none");
    }
}

void Connection::refuse(const std::exception_ptr& error)
{
    drop_calls();
    if (state_ != State::new_comer && state_ != State::ready) {
        return;
    }
    state_ = State::leaving;
    room_.reset();
    output_.push(protocol::FrameType::error, encode_error(error));
    set_timer(farewell_time);
    send();
}

void Connection::finish(const Call& call, protocol::FrameType type, std::string payload,
                        Call::Task after_sent)
{
    if (call_.get() != &call) {
        if (after_sent) {
            after_sent();
        }
        return;
    }
    discard_data_ = discard_data_ || call_->input_open();
    while (auto piece = call_->outgoing().pop()) {
        output_.push(protocol::FrameType::data, std::move(*piece));
    }
    auto answered = std::exchange(call_, nullptr);
    if (!answered->name().empty() ||
        (type == protocol::FrameType::reply && answered->awaits_acknowledgement())) {
        answered_ = std::move(answered);
    }
    if (after_sent) {
        after_sent_ = std::move(after_sent);
    }
    const bool large = payload.size() >= trim_size;
    output_.push(type, std::move(payload), owner_.has_unseen() ? protocol::flag_unseen : 0);
    send();
    if (large && output_.empty()) {
        give_back_freed_memory();
    }
}

void Connection::take_over(const std::shared_ptr<Call>& call)
{
    if (const auto before = call->connection(); before && before.get() != this) {
        before->hand_over(*call);
    }
    call_ = call;
    call->set_connection(weak_from_this());
}

void Connection::hand_over(const Call& call) noexcept
{
    for (auto* const mine : {&answered_, &call_}) {
        if (mine->get() == &call) {
            mine->reset();
        }
    }
    close();
}

bool Connection::tell(const Call& call, std::string event)
{
    if (call_.get() != &call || !output_.empty()) {
        return false;
    }
    output_.push(protocol::FrameType::event, std::move(event));
    send();
    return true;
}

void Connection::pump()
{
    if (state_ == State::closed) {
        return;
    }
    send();
    for (int piece = 0; call_ && output_.bytes() < protocol::max_data_size; ++piece) {
        if (piece == pieces_per_turn) {
            loop_.post([weak = weak_from_this()] {
                if (const auto self = weak.lock()) {
                    self->pump();
                }
            });
            return;
        }
        auto data = call_->outgoing().pop();
        if (!data) {
            return;
        }
        output_.push(protocol::FrameType::data, std::move(*data));
        send();
    }
}

void Connection::send()
{
    const auto result = output_.flush(socket_.get());
    const bool sent = result == OutputQueue::Result::empty;
    if (result == OutputQueue::Result::broken || (sent && state_ == State::leaving)) {
        close();
        return;
    }
    update_events();
    if (sent && after_sent_) {
        std::exchange(after_sent_, {})();
    }
}

void Connection::update_events()
{
    const bool reading = state_ != State::leaving && !(call_ && call_->input_full()) &&
                         (!room_ || room_->granted()) && owner_.is_reading();
    const std::uint32_t wanted =
        (reading ? EPOLLIN : 0U) | (output_.empty() ? 0U : static_cast<std::uint32_t>(EPOLLOUT));
    if (wanted != events_) {
        events_ = wanted;
        loop_.change(socket_.get(), wanted);
    }
}

} // namespace berth::guest
