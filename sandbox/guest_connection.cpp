#include "sandbox/guest_connection.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/protocol/hello.hpp"
#include "sandbox/protocol/messages.hpp"
#include "sandbox/protocol/wire.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

namespace berth::sandbox {
namespace {

/// Up to it a frame is sent in one piece: a copy costs less than a second system call.
constexpr std::size_t copy_limit = 64UL * 1024;

/// In milliseconds, at a time.
constexpr int longest_wait = 60'000;

constexpr std::size_t max_error_size = 1024UL * 1024;

} // namespace

void throw_violation(const std::string& what)
{
    throw Error(ErrorCode::backend_error,
                "the sandbox's guest does not keep to the protocol: " + what,
                "The operator ends the session with `berth sessions kill`: a new one gets a guest "
                "of the server's version.");
}

void throw_silent()
{
    throw Error(
        Error(ErrorCode::backend_error, "the sandbox's guest does not answer",
              "Nothing of this call was done: try again. If that does not help, the operator ends "
              "the session with `berth sessions kill`.")
            .set_retryable(true));
}

Error remote_error(std::string_view payload)
{
    if (payload.size() > max_error_size) {
        throw_violation("an error of " + std::to_string(payload.size()) + " bytes");
    }
    protocol::ErrorMessage message;
    try {
        message = protocol::decode<protocol::ErrorMessage>(payload);
    } catch (const protocol::WireError& malformed) {
        throw_violation(malformed.what());
    }
    // A newer guest may have words of its own.
    Error error(error_code_from(message.code).value_or(ErrorCode::backend_error), message.message,
                message.hint);
    error.set_retryable(message.retryable);
    for (auto& [key, value] : message.details) {
        error.with_detail(key, std::move(value));
    }
    return error;
}

GuestConnection::GuestConnection(std::unique_ptr<Channel> channel) noexcept
    : channel_(std::move(channel))
{
}

GuestConnection::GuestConnection(Opener open, std::size_t opening)
    : open_(std::move(open)), opening_(opening)
{
}

GuestConnection::~GuestConnection()
{
    end_cancel(/*of_further_use=*/false);
}

void GuestConnection::say_hello(const Introduction& introduction, const Deadline& deadline)
{
    protocol::Hello hello;
    hello.oldest = introduction.of_any_version ? 0 : protocol::protocol_oldest;
    hello.newest = protocol::protocol_version;
    hello.build = BERTH_VERSION;
    hello.token = introduction.token;
    hello.generation = introduction.generation;
    hello.client = introduction.as_client;
    hello.server = introduction.server;
    hello.seen = introduction.words.seen;
    hello.declined = introduction.words.declined;
    hello.given_up = introduction.words.given_up;
    if (introduction.lease) {
        hello.lease = static_cast<std::uint64_t>(introduction.lease->count());
    }
    oldest_ = hello.oldest;
    generation_ = introduction.generation;
    if (open_) {
        protocol::put_frame(hello_, protocol::FrameType::hello, protocol::encode(hello));
        repeats_ = true; // each guest that is reached so does
        return;
    }
    send(protocol::FrameType::hello, protocol::encode(hello), 0, 0);
    const auto frame = receive_frame(deadline);
    if (!frame) {
        throw_silent();
    }
    take_welcome(*frame);
}

void GuestConnection::take_welcome(const protocol::Frame& frame)
{
    if (frame.type == protocol::FrameType::error) {
        const auto refusal = remote_error(frame.payload);
        if (refusal.code() == ErrorCode::unsupported) {
            throw OtherVersion(refusal);
        }
        throw Refused(refusal);
    }
    if (frame.type != protocol::FrameType::hello_reply) {
        throw_violation("no answer to the hello");
    }
    protocol::HelloReply reply;
    try {
        reply = protocol::decode<protocol::HelloReply>(frame.payload);
    } catch (const protocol::WireError& malformed) {
        throw_violation(malformed.what());
    }
    if (reply.generation != generation_) {
        throw_violation("it is of another generation");
    }
    if (reply.version < oldest_ || reply.version > protocol::protocol_version) {
        throw_violation("it chose version " + std::to_string(reply.version));
    }
    repeats_ = reply.repeats;
    welcome_ = true;
    if (welcomed_) {
        welcomed_();
    }
    reader_.set_limit(protocol::max_payload_size);
}

void GuestConnection::begin() noexcept
{
    const std::lock_guard lock(send_mutex_);
    request_sent_ = false;
    cancel_wanted_ = false;
    cancel_sent_ = false;
}

void GuestConnection::send_request(std::uint16_t operation, std::string_view payload)
{
    send(protocol::FrameType::request, payload, operation, 0);
    request_sent_ = true;
    flush_cancel();
}

void GuestConnection::send_data(std::string_view piece, bool last)
{
    send(protocol::FrameType::data, piece, 0, last ? protocol::flag_last : std::uint8_t{0});
    flush_cancel();
}

void GuestConnection::sent_all()
{
    const std::lock_guard lock(send_mutex_);
    channel_->sent_all();
}

void GuestConnection::send(protocol::FrameType type, std::string_view payload,
                           std::uint16_t operation, std::uint8_t flags)
{
    std::string head;
    const std::lock_guard lock(send_mutex_);
    request_is_last_ = type == protocol::FrameType::request;
    protocol::put_header(head, type, payload.size(), operation, flags);
    if (open_ && !channel_) {
        open_with(hello_ + head, payload);
    } else {
        send_bytes(head, payload);
    }
}

void GuestConnection::send_bytes(std::string_view head, std::string_view payload)
{
    if (payload.size() <= copy_limit) {
        channel_->send(std::string(head).append(payload));
        return;
    }
    channel_->send(head);
    channel_->send(payload);
}

/// Whether the guest has had a request that did not get an answer is not known, but for Unsent.
void GuestConnection::open_with(std::string_view head, std::string_view payload)
{
    const auto fitting = payload.substr(0, opening_ - std::min(opening_, head.size()));
    std::unique_ptr<Channel> channel;
    try {
        channel = open_(std::string(head).append(fitting));
    } catch (const Unsent&) {
        throw;
    } catch (...) {
        request_sent_ = fitting.size() == payload.size();
        throw;
    }
    {
        const std::lock_guard lock(channel_mutex_);
        channel_ = std::move(channel);
        if (shut_) {
            channel_->shutdown();
        }
    }
    made_.notify_all();
    if (fitting.size() < payload.size()) {
        channel_->send(payload.substr(fitting.size()));
    }
}

void GuestConnection::shutdown() noexcept
{
    const std::lock_guard lock(channel_mutex_);
    shut_ = true;
    if (channel_) {
        channel_->shutdown();
    }
    made_.notify_all();
}

bool GuestConnection::is_made() const
{
    const std::lock_guard lock(channel_mutex_);
    return channel_ != nullptr;
}

/// False when the deadline passed. Whoever receives may be there before whoever sends.
bool GuestConnection::await_channel(const Deadline& deadline)
{
    std::unique_lock lock(channel_mutex_);
    while (!channel_ && !shut_) {
        if (deadline.expired()) {
            return false;
        }
        const auto left = deadline.is_never() ? longest_wait : deadline.poll_timeout();
        made_.wait_for(lock, std::chrono::milliseconds(std::min(left, longest_wait)));
    }
    if (!channel_) {
        throw Error(ErrorCode::session_lost, "the connection was given up before it was made");
    }
    return true;
}

void GuestConnection::acknowledge()
{
    send(protocol::FrameType::acknowledge, "", 0, 0);
}

void GuestConnection::decline()
{
    send(protocol::FrameType::cancel, "", 0, 0);
}

void GuestConnection::cancel() noexcept
{
    cancel_wanted_ = true;
    flush_cancel();
}

void GuestConnection::cancel_soon() noexcept
{
    cancel_wanted_ = true; // for whoever sends, or waits, also before that thread runs
    cancelling_ = true;
    try {
        canceller_ = std::jthread([this] {
            flush_cancel();
            cancelling_ = false;
        });
    } catch (const std::exception&) { // there is no room for a thread: whoever receives is told
        cancelling_ = false;
        shutdown();
    }
}

void GuestConnection::end_cancel(bool of_further_use) noexcept
{
    if (!canceller_.joinable()) {
        return;
    }
    if (cancelling_ && (open_ || !of_further_use)) { // one that was made for its call has no other
        shutdown();
    }
    canceller_.join();
}

/// Whoever holds the lock is sending, and comes here after that. The one who cancels must not wait
/// for a guest that reads slowly.
void GuestConnection::flush_cancel() noexcept
{
    if (!cancel_wanted_ || !request_sent_) {
        return;
    }
    const std::unique_lock lock(send_mutex_, std::try_to_lock);
    if (!lock || !channel_ || std::exchange(cancel_sent_, true)) {
        return; // without a channel: it could not be made, and whoever sends says why
    }
    request_is_last_ = false;
    try {
        std::string bytes;
        protocol::put_frame(bytes, protocol::FrameType::cancel, "");
        channel_->send_urgent(bytes);
    } catch (...) {
        channel_->shutdown(); // whoever receives is told
    }
}

std::size_t GuestConnection::receive_some(char* data, std::size_t size, const Deadline& deadline)
{
    try {
        return channel_->receive(data, size, deadline);
    } catch (const LeftUnread&) {
        // What it left begins or ends with the last that was sent; of a cancel it says nothing
        // about the request before. A guest that lies here has its own session's call run twice.
        const std::lock_guard lock(send_mutex_);
        if (request_is_last_) {
            request_sent_ = false;
        }
        throw;
    }
}

std::optional<protocol::Frame> GuestConnection::receive(const Deadline& deadline)
{
    auto frame = receive_frame(deadline);
    if (!frame || welcome_) {
        return frame;
    }
    try {
        take_welcome(*frame);
    } catch (...) {
        request_sent_ = false; // it is refused with its hello
        throw;
    }
    return receive_frame(deadline);
}

std::optional<protocol::Frame> GuestConnection::receive_frame(const Deadline& deadline)
{
    if (!await_channel(deadline)) {
        return std::nullopt;
    }
    std::array<char, 64UL * 1024>
        buffer; // NOLINT(cppcoreguidelines-pro-type-member-init): read into
    for (;;) {
        try {
            if (auto frame = reader_.next()) {
                return frame;
            }
        } catch (const protocol::WireError& malformed) {
            throw_violation(malformed.what());
        }
        std::size_t size = 0;
        try {
            size = receive_some(buffer.data(), buffer.size(), deadline);
        } catch (const Error& error) {
            if (error.code() == ErrorCode::backend_error && deadline.expired()) {
                return std::nullopt;
            }
            throw;
        }
        if (size == 0) {
            throw Error(ErrorCode::session_lost, "the sandbox's guest closed the connection");
        }
        reader_.feed({buffer.data(), size});
    }
}

} // namespace berth::sandbox
